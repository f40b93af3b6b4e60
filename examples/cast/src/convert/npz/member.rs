//! An array of an archive: its elements, and what becomes of them.

use std::io::{self, Write};
use std::path::Path;

use wgpu_cast::{CastOptions, DeviceChoice, ElementType, Tensor, cpu};
use wgpu_cast_files::{
    FileCause, FileError, FilePlan, NpyArray, NpyElements, NpyHeader, NpyOrder, NpzArchive, NpzMember, Part,
    SourceRange, StoredTensor, TensorStorage, npy_plan, write_strings,
};

use crate::args::ConvertArgs;
use crate::convert::rules::Wanted;
use crate::convert::single::{is_about_dtype, made, read, told, with_option};
use crate::convert::source_types::SourceTypes;
use crate::failure::Failure;
use crate::output::warning;

/// The elements of an array.
pub enum Elements {
    Numbers(StoredTensor),
    Strings(NpyArray),
    /// Elements that cannot be cast. The error gives the reason: the dtype has no element type, or the caller must give
    /// it.
    Other(FileError),
}

/// An array and its header.
pub struct Array {
    pub header: NpyHeader,
    pub elements: Elements,
    /// The type that `--from` gives, to which `--to` applies.
    from: Option<ElementType>,
}

impl Array {
    /// Reads the header of a member. `--from` gives the type of raw codes. With a name pattern it also gives the type
    /// of unsigned integers.
    ///
    /// # Errors
    /// The member is no array, its size contradicts its header, or it contradicts a type that is given by name.
    pub fn read(archive: &mut NpzArchive<'_>, member: &NpzMember, from: &SourceTypes) -> Result<Self, String> {
        let header = archive.header(member).map_err(|error| shown(&error))?;
        let (named, plain) = (from.named(&member.name), from.plain());
        let array = match archive.array(member, named) {
            Err(error) if named.is_none() && matches!(error.cause(), FileCause::ElementTypeNeeded { .. }) => {
                archive.array(member, plain.filter(|plain| plain.is_numeric()))
            }
            array => array,
        };
        let elements = match array {
            // Every tensor except one of strings is stored as packed codes.
            Ok(array) => match array.stored(&member.name, usize::from(member.stored.is_none())) {
                Ok(stored) => {
                    let start = member.stored.as_ref().map_or(0, |range| range.start);
                    Elements::Numbers(StoredTensor { offset: start + stored.offset, ..stored })
                }
                Err(_) => Elements::Strings(array),
            },
            Err(error) if named.is_none() && is_about_dtype(error.cause()) => Elements::Other(error),
            Err(error) => return Err(shown(&error)),
        };
        Ok(Self { header, elements, from: named.or(plain) })
    }

    /// The element type; `None` if there is none or it is not known.
    pub fn element_type(&self) -> Option<ElementType> {
        match &self.elements {
            Elements::Numbers(stored) => Some(stored.storage.element_type),
            Elements::Strings(_) => Some(ElementType::STRING),
            Elements::Other(_) => None,
        }
    }

    /// The type to which the array is cast; `None` if it stays as it is. An array that cannot be cast is usually
    /// copied. It is an error if the user names it or maps it, or if it might have the type that is to be cast.
    ///
    /// # Errors
    /// Why it cannot be cast.
    pub fn target(&self, name: &str, args: &ConvertArgs) -> Result<Option<ElementType>, String> {
        let wanted = args.rules.wanted(name);
        let error = match &self.elements {
            Elements::Numbers(stored) => {
                return Ok(args.rules.target(name, stored.storage.element_type, self.from));
            }
            Elements::Strings(_) => {
                return match wanted {
                    Wanted::Listed { to, by_its_name: true } if to.is_numeric() && self.from.is_none() => {
                        Err(format!("dtype '{}': --to is for floats, add --map '{name}={to}'", self.header.dtype))
                    }
                    _ => Ok(args.rules.target(name, ElementType::STRING, self.from)),
                };
            }
            Elements::Other(error) => error,
        };
        match wanted {
            Wanted::Mapped(_) | Wanted::Listed { by_its_name: true, .. } => Err(self.refusal(name, error)),
            Wanted::Listed { .. } if self.may_be_meant(error) => Err(self.refusal(name, error)),
            _ => Ok(None),
        }
    }

    /// Whether raw codes may have the type that is to be cast.
    fn may_be_meant(&self, error: &FileError) -> bool {
        match error.cause() {
            // Only these sizes are those of element types.
            FileCause::ElementTypeNeeded { bytes, .. } => {
                matches!(bytes, 1 | 2 | 4 | 8) && self.from.is_none_or(ElementType::is_numeric)
            }
            _ => false,
        }
    }

    fn refusal(&self, name: &str, error: &FileError) -> String {
        match error.cause() {
            cause @ FileCause::ElementTypeNeeded { .. } => {
                format!("{cause}: add --from '{name}=TYPE', or leave it as it is with --map '{name}=keep'")
            }
            _ => shown(error),
        }
    }

    /// Warns that floats are copied, also as fields, which a rule would cast, but which cannot be cast.
    pub fn warn_if_left(&self, path: &Path, name: &str, args: &ConvertArgs) {
        // Each field has a name and a dtype between apostrophes. A name that begins like a dtype may
        // give a warning too many.
        let mut dtypes = self.header.dtype.split('\'').filter(|part| part.starts_with(['<', '>', '|']));
        let is_float = dtypes.any(|dtype| matches!(dtype.chars().nth(1), Some('f' | 'c' | 'W')));
        let is_meant = self.from.is_none() && matches!(args.rules.wanted(name), Wanted::Listed { .. });
        if let (Elements::Other(error), true, true) = (&self.elements, is_float, is_meant) {
            warning(Failure::at(path, format_args!("{name}: {}; the array is copied as it is", error.cause())));
        }
    }

    /// Plans a copy of the member. It is read from the archive, or from the file into which it is decompressed.
    pub fn copy(member: &NpzMember) -> FilePlan {
        let offset = member.stored.as_ref().map_or(0, |range| range.start);
        let range = SourceRange { input: usize::from(member.stored.is_none()), offset, bytes: member.bytes };
        FilePlan { parts: vec![Part::Copy(range)] }
    }

    /// Plans the member with its elements cast. Strings are cast here, in memory.
    ///
    /// # Errors
    /// The cast is not possible.
    pub fn cast(
        &self,
        archive: &mut NpzArchive<'_>,
        member: &NpzMember,
        to: ElementType,
        options: &CastOptions,
        args: &ConvertArgs,
    ) -> Result<FilePlan, Failure> {
        let array = match &self.elements {
            Elements::Numbers(stored) if to.is_numeric() => {
                return npy_plan(stored, to, options, NpyOrder::Keep).map_err(|error| Failure::Work(told(&error)));
            }
            Elements::Numbers(_) => archive.array(member, self.element_type()),
            Elements::Strings(array) => Ok(array.clone()),
            Elements::Other(_) => unreachable!("it has no target"),
        };
        if !matches!(args.device.choice()?, DeviceChoice::Auto | DeviceChoice::Cpu) {
            return Err(Failure::Usage("strings can only be cast on the CPU".to_owned()));
        }
        let failed = |error: &dyn std::fmt::Display| Failure::Work(error.to_string());
        let array = array.map_err(|error| failed(&error))?;
        let mut file = Memory::default();
        archive.copy(member, &mut file).map_err(|error| failed(&error))?;
        let tensor: Tensor = match array.elements {
            NpyElements::Strings(_) => array.read_strings(&file.0).map_err(|error| failed(&error))?,
            _ => {
                let stored = array.stored(&member.name, 0).map_err(|error| failed(&error))?;
                read(&stored, &[&file.0]).map_err(Failure::Work)?
            }
        };
        let tensor = cpu::cast(&tensor, to, options)?;
        let bytes = match tensor.bytes() {
            None => write_strings(&tensor).map_err(|error| failed(&error))?,
            Some(codes) => {
                let shape = self.header.shape.clone();
                let storage = TensorStorage::packed(to);
                let name = member.name.clone();
                let stored = StoredTensor { name, shape, input: 0, offset: 0, storage, column_major: false };
                let plan = npy_plan(&stored, to, options, NpyOrder::Keep).map_err(|error| failed(&error))?;
                made(&plan, &[&codes.to_vec()]).map_err(Failure::Work)?
            }
        };
        Ok(FilePlan { parts: vec![Part::Bytes(bytes)] })
    }
}

/// The error of a member, without the member's name. If an option helps, the text names it.
fn shown(error: &FileError) -> String {
    with_option(error.cause()).unwrap_or_else(|| error.cause().to_string())
}

/// A file in memory. It grows as long as there is memory.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! File formats by extension, and `.bin` files.

use std::fs;
use std::io::Read;
use std::path::Path;

use clap::ValueEnum;
use wgpu_cast::{ElementType, Tensor};

use crate::failure::Failure;
use crate::output::counted;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FileFormat {
    /// ONNX `raw_data` alone.
    Bin,
    /// numpy's array file.
    Npy,
    /// ONNX `TensorProto`.
    Pb,
    /// Tensors with names.
    Safetensors,
}

impl FileFormat {
    /// The format that the file's extension names.
    ///
    /// # Errors
    /// The extension is another one, or missing.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let known = Self::value_variants();
        known.iter().copied().find(|format| extension.as_deref() == Some(format.extension().as_ref())).ok_or_else(
            || {
                let known: Vec<_> = known.iter().map(|format| format!(".{}", format.extension())).collect();
                Failure::Usage(format!("{}: unknown file extension (expected {})", path.display(), known.join(", ")))
            },
        )
    }

    /// The extension of such files.
    pub const fn extension(self) -> &'static str {
        match self {
            FileFormat::Bin => "bin",
            FileFormat::Npy => "npy",
            FileFormat::Pb => "pb",
            FileFormat::Safetensors => "safetensors",
        }
    }
}

/// Reads ONNX `raw_data` as a tensor of one axis.
///
/// # Errors
/// The file cannot be read, or its size does not match the number of elements.
pub fn read_bin(path: &Path, from: ElementType, len: Option<u64>) -> Result<Tensor, Failure> {
    // One byte more than --len needs shows that there are too many. The limit matters for files without an end.
    let most = len.and_then(|len| from.packed_bytes(len)).map_or(u64::MAX, |bytes| bytes.saturating_add(1));
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|e| Failure::at(path, e))?;
    let held = bytes.len() as u64;
    let elements = len.or(from.elements_in(held)).unwrap_or(0);
    let takes = from.packed_bytes(elements);
    if takes != Some(held) {
        let bits = from.bits().unwrap_or(0);
        let what = match (len, takes) {
            (None, _) => format!(
                "the file size of {} is not a whole number of {from} codes of {bits} bits",
                counted(held, "byte")
            ),
            (Some(_), Some(takes)) => {
                let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
                let held = size.map_or("another number".to_owned(), |size| size.to_string());
                format!("--len {elements} of {from} needs {}, but the file has {held}", counted(takes, "byte"))
            }
            (Some(_), None) => format!("--len {elements} of {from} is too large"),
        };
        return Err(Failure::at(path, what));
    }
    let elements = usize::try_from(elements).map_err(|e| Failure::at(path, e))?;
    Tensor::from_bytes(from, [elements], bytes).map_err(|e| Failure::at(path, e))
}

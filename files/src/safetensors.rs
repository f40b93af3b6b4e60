//! safetensors files.

use std::collections::{BTreeMap, HashMap, HashSet};

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use wgpu_cast::{CastOptions, ElementType};

use super::error::{FileCause, FileError, PlanFault, SafetensorsFault};
use super::input::{ReadAt, read_at, size_of};
use super::plan::{FilePlan, Part, SourceRange, TensorCast, TensorStorage};
use crate::memory::{reserve, zeros};
use crate::repack::code_bits;
use crate::text::cut;

/// The size of the number in front of the header, which is the header's length, in bytes.
const LENGTH_BYTES: u64 = 8;

/// The longest header that the crate `safetensors` accepts, in bytes.
const LONGEST_HEADER: u64 = 100_000_000;

/// The element types of the format. It also has C64, to which no element type of ONNX corresponds.
const TYPES: [(Dtype, ElementType); 21] = [
    (Dtype::BOOL, ElementType::BOOL),
    (Dtype::F4, ElementType::FLOAT4E2M1),
    (Dtype::F6_E2M3, ElementType::FLOAT6E2M3),
    (Dtype::F6_E3M2, ElementType::FLOAT6E3M2),
    (Dtype::U8, ElementType::UINT8),
    (Dtype::I8, ElementType::INT8),
    (Dtype::F8_E5M2, ElementType::FLOAT8E5M2),
    (Dtype::F8_E4M3, ElementType::FLOAT8E4M3FN),
    (Dtype::F8_E8M0, ElementType::FLOAT8E8M0),
    (Dtype::F8_E4M3FNUZ, ElementType::FLOAT8E4M3FNUZ),
    (Dtype::F8_E5M2FNUZ, ElementType::FLOAT8E5M2FNUZ),
    (Dtype::I16, ElementType::INT16),
    (Dtype::U16, ElementType::UINT16),
    (Dtype::F16, ElementType::FLOAT16),
    (Dtype::BF16, ElementType::BFLOAT16),
    (Dtype::I32, ElementType::INT32),
    (Dtype::U32, ElementType::UINT32),
    (Dtype::F32, ElementType::FLOAT),
    (Dtype::F64, ElementType::DOUBLE),
    (Dtype::I64, ElementType::INT64),
    (Dtype::U64, ElementType::UINT64),
];

/// The header of a safetensors file. What version 0.8 of the crate `safetensors` accepts is accepted, with one exception:
/// a name that is given twice is an error here, where that crate takes the last one.
#[derive(Clone, Debug)]
pub struct SafetensorsFile {
    tensors: Vec<SafetensorsTensor>,
    metadata: BTreeMap<String, String>,
}

/// A tensor of a safetensors file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SafetensorsTensor {
    /// The name.
    pub name: String,
    /// The element type; `None` for C64, to which no element type of ONNX corresponds.
    pub element_type: Option<ElementType>,
    /// The lengths of the axes.
    pub shape: Vec<u64>,
    /// The first byte of the elements in the file.
    pub offset: u64,
    /// The size of the elements in bytes.
    pub bytes: u64,
    dtype: Dtype,
}

/// A tensor of a safetensors file that is to be made.
#[derive(Clone, Debug)]
pub struct SafetensorsEntry {
    /// The name.
    pub name: String,
    /// The element type.
    pub element_type: ElementType,
    /// The lengths of the axes.
    pub shape: Vec<u64>,
    /// What the elements are made of, in order. They are packed.
    pub parts: Vec<Part>,
}

impl SafetensorsTensor {
    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }
}

impl SafetensorsFile {
    /// Reads the header, and checks it against the size of the file. The tensors follow one another without gaps.
    ///
    /// # Errors
    /// [`FileCause::Malformed`]; [`FileCause::Read`]; [`FileCause::OutOfMemory`].
    pub fn read(input: &dyn ReadAt) -> Result<Self, FileError> {
        Self::parse(input).map_err(|error| error.in_format("safetensors file"))
    }

    fn parse(input: &dyn ReadAt) -> Result<Self, FileError> {
        let size = size_of(input)?;
        let mut length = [0; LENGTH_BYTES as usize];
        if size < LENGTH_BYTES {
            return Err(SafetensorsFault::NoLength { size }.into());
        }
        read_at(input, 0, &mut length)?;
        let length = u64::from_le_bytes(length);
        let most = LONGEST_HEADER.min(size - LENGTH_BYTES);
        if length > most {
            return Err(SafetensorsFault::HeaderLength { bytes: length, most }.into());
        }
        let mut text = zeros(length)?;
        read_at(input, LENGTH_BYTES, &mut text)?;
        // The parser ends the process if there is no memory. The memory that it may need is therefore tried here first.
        drop(reserve(parsed_bytes(&text))?);
        let header: Metadata =
            serde_json::from_slice(&text).map_err(|error| SafetensorsFault::Json { said: shown(&error) })?;
        let (data, takes) = (LENGTH_BYTES + length, header.data_len() as u64);
        if takes != size - data {
            return Err(SafetensorsFault::DataLength { takes, found: size - data }.into());
        }
        let infos = header.tensors();
        if entries(&text) != [infos.len(), header.metadata().as_ref().map_or(0, HashMap::len)] {
            // The names take the memory of what was parsed.
            drop(infos);
            drop(header);
            return Err(SafetensorsFault::SameName { name: repeated(&text) }.into());
        }
        let mut tensors: Vec<_> =
            infos.into_iter().map(|(name, info)| SafetensorsTensor::new(name, info, data)).collect();
        // An empty tensor has the offset of its neighbour, so that the offset alone does not give an order.
        tensors.sort_by(|a, b| (a.offset, a.bytes, &a.name).cmp(&(b.offset, b.bytes, &b.name)));
        let metadata = header.metadata().iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self { tensors, metadata })
    }

    /// The tensors, in the order of the file.
    pub fn tensors(&self) -> &[SafetensorsTensor] {
        &self.tensors
    }

    /// The text values of `__metadata__`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The file with its tensors cast. `target` gives the element type and the options for a tensor, or `None` if the
    /// tensor stays as it is. A tensor of C64 always stays as it is, and so does one that has the type already. `input`
    /// is the index of this file among the inputs of the plan.
    ///
    /// Names, shapes and metadata stay. Tensors of wider elements come first, so that each tensor is aligned to the size
    /// of its elements. Within one width the order stays.
    ///
    /// # Errors
    /// [`FileCause::NoSuchType`] if the format does not have the target type; [`FileCause::Unsupported`] if the elements
    /// do not fill whole bytes, which the format demands; [`FileCause::TooLarge`] if a size overflows, or if the names of
    /// the new types make the header longer than the format allows.
    pub fn plan(
        &self,
        input: usize,
        target: &mut dyn FnMut(&SafetensorsTensor) -> Option<(ElementType, CastOptions)>,
    ) -> Result<FilePlan, FileError> {
        self.plan_entries(input, &self.metadata, Vec::new(), &mut |tensor| {
            let (to, options) = target(tensor)?;
            tensor.cast(input, to, options).map(|entry| vec![entry])
        })
    }

    /// The file with some tensors replaced. `entries` gives what replaces a tensor, or `None` if the tensor stays as it is.
    /// An empty list removes it. `more` are tensors behind those of the file. The order is that of [`plan`](Self::plan).
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan). [`FileCause::Request`] if two tensors have one name, or if the parts of a tensor do not
    /// have the size of its elements.
    pub fn plan_entries(
        &self,
        input: usize,
        metadata: &BTreeMap<String, String>,
        more: Vec<SafetensorsEntry>,
        entries: &mut dyn FnMut(&SafetensorsTensor) -> Option<Vec<SafetensorsEntry>>,
    ) -> Result<FilePlan, FileError> {
        let mut planned = Vec::with_capacity(self.tensors.len());
        for tensor in &self.tensors {
            match entries(tensor) {
                None => {
                    let range = SourceRange { input, offset: tensor.offset, bytes: tensor.bytes };
                    let shape = tensor.shape.clone();
                    planned.push((tensor.name.clone(), tensor.dtype, shape, vec![Part::Copy(range)]));
                }
                Some(entries) => {
                    for entry in entries {
                        planned.push(entry.checked()?);
                    }
                }
            }
        }
        for entry in more {
            planned.push(entry.checked()?);
        }
        planned.sort_by_key(|(_, dtype, ..)| std::cmp::Reverse(dtype.bitsize().div_ceil(8)));
        let mut names = HashSet::new();
        let mut header = vec![b'{'];
        if !metadata.is_empty() {
            header.extend(b"\"__metadata__\":");
            serde_json::to_writer(&mut header, metadata).expect("text has JSON");
        }
        let mut end = 0usize;
        for (name, dtype, shape, parts) in &planned {
            if !names.insert(name) {
                return Err(FileError::from(SafetensorsFault::SameEntry).of_tensor(name));
            }
            let bytes = bytes_of(parts).and_then(|bytes| usize::try_from(bytes).ok()).ok_or(PlanFault::Size)?;
            let start = end;
            end = start.checked_add(bytes).ok_or(PlanFault::Size)?;
            let shape = shape.iter().map(|&axis| axis as usize).collect();
            let info = TensorInfo { dtype: *dtype, shape, data_offsets: (start, end) };
            let text = serde_json::to_string(&info).expect("numbers have JSON");
            let comma = if header.len() == 1 { "" } else { "," };
            header.extend(format!("{comma}{}:{}", serde_json::json!(name), text).as_bytes());
        }
        header.push(b'}');
        // Spaces behind the header align the first tensor to 8 bytes.
        header.resize(header.len().next_multiple_of(8), b' ');
        let bytes = header.len() as u64;
        if bytes > LONGEST_HEADER {
            return Err(SafetensorsFault::NewHeaderLength { bytes, limit: LONGEST_HEADER }.into());
        }
        let length = bytes.to_le_bytes();
        let header = Part::Bytes([&length, header.as_slice()].concat());
        let parts = planned.into_iter().flat_map(|(.., parts)| parts);
        let plan = FilePlan { parts: std::iter::once(header).chain(parts).collect() };
        plan.bytes().ok_or(PlanFault::Size)?;
        Ok(plan)
    }
}

/// The bytes of parts in the output; `None` for strings, or if they overflow.
fn bytes_of(parts: &[Part]) -> Option<u64> {
    parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.bytes()?))
}

/// The number of tensors and of texts in `__metadata__` that a valid header lists. The parser keeps only the last of
/// equal names. If it found fewer, a name is given twice.
fn entries(header: &[u8]) -> [usize; 2] {
    let (mut tensors, mut texts) = (0, 0);
    for_each_name(header, |is_tensor, _| *(if is_tensor { &mut tensors } else { &mut texts }) += 1);
    [tensors, texts]
}

/// The first name that a valid header gives twice.
fn repeated(header: &[u8]) -> String {
    let (mut names, mut found) = (HashSet::new(), None);
    for_each_name(header, |is_tensor, quoted| {
        let name = serde_json::from_slice::<String>(quoted).unwrap_or_default();
        if let Some((_, name)) = names.replace((is_tensor, name)) {
            found.get_or_insert(name);
        }
    });
    found.unwrap_or_default()
}

/// Calls `each` for every name in a valid header, as it stands there with its quotation marks, and with whether it is that
/// of a tensor or of a text in `__metadata__`.
fn for_each_name(header: &[u8], mut each: impl FnMut(bool, &[u8])) {
    let (mut depth, mut in_metadata, mut is_value) = (0, false, false);
    let mut at = 0;
    while let Some(&byte) = header.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                while header.get(at).is_some_and(|&byte| byte != b'"') {
                    at += if header[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                // In the outermost object, only names are strings. In the metadata, every name and every value is one.
                if depth == 1 {
                    let name = serde_json::from_slice::<String>(&header[start..at]);
                    in_metadata = name.is_ok_and(|name| name == "__metadata__");
                    if !in_metadata {
                        each(true, &header[start..at]);
                    }
                } else if in_metadata {
                    if !is_value {
                        each(false, &header[start..at]);
                    }
                    is_value = !is_value;
                }
            }
            _ => {}
        }
    }
}

/// The text of an error that may quote the header, which is untrusted: cut, and without control characters.
fn shown(error: &serde_json::Error) -> String {
    cut(&error.to_string(), 200).replace(char::is_control, "\u{fffd}")
}

/// An estimate of the most memory that parsing a header takes, in maps and in vectors that grow. serde first keeps the
/// tensors in a form that can hold any JSON. The memory therefore depends on the number of strings and of elements of
/// arrays.
fn parsed_bytes(header: &[u8]) -> u64 {
    let count = |wanted: u8| header.iter().filter(|byte| **byte == wanted).count() as u64;
    2 * header.len() as u64 + 96 * (count(b'"') + count(b','))
}

impl SafetensorsTensor {
    fn new(name: String, info: &TensorInfo, data: u64) -> Self {
        let (start, end) = info.data_offsets;
        Self {
            name,
            element_type: TYPES.iter().find(|(dtype, _)| *dtype == info.dtype).map(|(_, element_type)| *element_type),
            shape: info.shape.iter().map(|&axis| axis as u64).collect(),
            offset: data + start as u64,
            bytes: (end - start) as u64,
            dtype: info.dtype,
        }
    }

    /// The tensor, cast. `input` is the index of its file among the inputs of the plan. `None` if the tensor stays as it
    /// is: it has the type already, or it is of C64.
    pub fn cast(&self, input: usize, to: ElementType, options: CastOptions) -> Option<SafetensorsEntry> {
        let from = self.element_type.filter(|from| *from != to)?;
        let (name, shape, elements) = (self.name.clone(), self.shape.clone(), self.elements());
        let [from, to] = [from, to].map(TensorStorage::packed);
        let (offset, column_major) = (self.offset, Vec::new());
        let cast =
            TensorCast { name: name.clone(), elements, input, offset, from, to, options, column_major, clamp: false };
        Some(SafetensorsEntry { name, element_type: to.element_type, shape, parts: vec![Part::Cast(cast)] })
    }
}

impl SafetensorsEntry {
    /// The parts of the entry, if the format can hold it.
    fn checked(self) -> Result<(String, Dtype, Vec<u64>, Vec<Part>), FileError> {
        let Self { name, element_type, shape, parts } = self;
        let failed = |error: FileError| error.of_tensor(&name);
        let Some((dtype, _)) = TYPES.iter().find(|(_, known)| *known == element_type) else {
            let known = TYPES.iter().map(|(_, element_type)| *element_type).collect();
            let cause = FileCause::NoSuchType { format: "safetensors", element_type, known };
            return Err(failed(cause.into()));
        };
        let elements = shape.iter().try_fold(1u64, |elements, &axis| elements.checked_mul(axis));
        let elements = elements.ok_or_else(|| failed(PlanFault::Size.into()))?;
        if u128::from(elements) * u128::from(code_bits(element_type)) % 8 != 0 {
            return Err(failed(SafetensorsFault::NotWhole { elements, element_type }.into()));
        }
        let expected = TensorStorage::packed(element_type).bytes(elements);
        let expected = expected.ok_or_else(|| FileError::from(PlanFault::Size))?;
        let found = bytes_of(&parts).ok_or_else(|| FileError::from(PlanFault::Size))?;
        if found != expected {
            return Err(failed(SafetensorsFault::EntryBytes { found, expected }.into()));
        }
        Ok((name, *dtype, shape, parts))
    }
}

//! What is wrong in detail: an enum for each part of the package.

use wgpu_cast::ElementType;

use super::onnx::{ModelFault, TensorFault};
use super::{FileCause, FileError, FileFault};
use crate::text::{counted, quoted};
use crate::wire::WireError;

/// The variant of [`FileCause`] to which a fault belongs.
pub(super) type Class = fn(FileFault) -> FileCause;

/// Makes the enum of all faults, and the conversion of each into a [`FileError`].
macro_rules! faults {
    ($($name:ident($fault:ty),)*) => {
        /// A fault of any part.
        #[derive(Debug, thiserror::Error)]
        pub(crate) enum Fault {
            $(#[error(transparent)] $name(#[from] $fault),)*
            #[error(transparent)]
            Wire(WireError),
        }

        $(impl From<$fault> for FileError {
            fn from(fault: $fault) -> Self {
                let class = fault.class();
                class(FileFault(fault.into())).into()
            }
        })*
    };
}

faults! {
    Plan(PlanFault),
    Scale(ScaleFault),
    Block(BlockFault),
    Npy(NpyFault),
    Npz(NpzFault),
    Safetensors(SafetensorsFault),
    Tensor(TensorFault),
    Model(ModelFault),
}

/// A plan cannot be made or executed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanFault {
    #[error("a size in bytes overflows")]
    Size,
    #[error("{} of {element_type} are too many: their size overflows", counted(*.elements, "element"))]
    Elements { elements: u64, element_type: ElementType },
    #[error("the message would have {bytes} bytes; protobuf messages must be smaller than 2 GiB")]
    BeyondMessage { bytes: u64 },
    #[error("the file size of {} is not a whole number of {from} codes of {bits} bits", counted(*.bytes, "byte"))]
    NotWhole { bytes: u64, from: ElementType, bits: u32 },
    #[error("expected {wanted}, got {found}")]
    Kind { wanted: &'static str, found: ElementType },
    #[error("the plan reads input {input}, but there are {inputs} inputs")]
    NoInput { input: usize, inputs: usize },
    #[error("only codes of fewer than 8 bits are one per byte, and only others are big-endian")]
    CodeWidth,
    #[error("codes of fewer than 8 bits cannot be packed in column-major order")]
    PackedColumns,
    #[error("codes with scales need a function that casts them (write_scaled)")]
    NoScaledCaster,
    #[error("{elements} elements in rows of {columns} are no matrix with blocks of {} x {}", block[0], block[1])]
    Blocks { elements: u64, columns: u64, block: [u64; 2] },
    #[error(
        "scales need packed codes, with rows and blocks that start at a byte (transposed ones 4 bits and even rows)"
    )]
    ScaledStorage,
    #[error("scales are floats and zero points integers of 8, 16 or 32 bits, not {found}")]
    ScaleType { found: ElementType },
    #[error("a weight that is quantized has neither a second scale nor zero points")]
    DividedBy,
    #[error("scales end at byte {end} of their input, and all scales of the plan take {}", counted(*.bytes, "byte"))]
    ScaleGap { end: u64, bytes: u64 },
}

impl PlanFault {
    /// The fault of another type where a type of numbers is needed.
    pub(crate) const fn no_numbers(found: ElementType) -> Self {
        Self::Kind { wanted: "numbers", found }
    }

    fn class(&self) -> Class {
        match self {
            Self::Size | Self::Elements { .. } | Self::BeyondMessage { .. } => FileCause::TooLarge,
            Self::NotWhole { .. } => FileCause::Malformed,
            Self::Kind { .. }
            | Self::NoInput { .. }
            | Self::CodeWidth
            | Self::PackedColumns
            | Self::NoScaledCaster
            | Self::Blocks { .. }
            | Self::ScaledStorage
            | Self::ScaleType { .. }
            | Self::DividedBy
            | Self::ScaleGap { .. } => FileCause::Request,
        }
    }
}

/// A scale is no finite number, or is none after the scale of the whole tensor was applied. `index` counts the scales.
#[derive(Debug, thiserror::Error)]
#[error("the scale {} is {value} at index {index}", quoted(.name))]
pub(crate) struct ScaleFault {
    pub name: String,
    pub index: u64,
    /// NaN or an infinity, as text: formatting floats is much code, which the module of a page would have for this alone.
    pub value: &'static str,
}

impl ScaleFault {
    fn class(&self) -> Class {
        FileCause::Malformed
    }
}

/// A block of a weight that is quantized has an element that is not finite. `index` counts the blocks of the weight.
#[derive(Debug, thiserror::Error)]
#[error("block {index} has {value}, so that it has no scale")]
pub(crate) struct BlockFault {
    pub index: u64,
    pub value: &'static str,
}

impl BlockFault {
    fn class(&self) -> Class {
        FileCause::Malformed
    }
}

/// A `.npy` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NpyFault {
    #[error("there is no header of a .npy file, or only its beginning")]
    NotNpy,
    #[error("bad header: {reason}")]
    Header { reason: &'static str },
    #[error("string {index} is not valid UTF-8")]
    Utf8 { index: usize },
    #[error("string {index} contains {code:#x}, which is not a Unicode character")]
    Character { index: usize, code: u32 },
    #[error("unsupported .npy format version {major}.{minor}")]
    Version { major: u8, minor: u8 },
    /// numpy has the same limit.
    #[error("the header has {bytes} bytes, the limit is {limit}")]
    HeaderLength { bytes: u64, limit: u64 },
    /// numpy has the same limit.
    #[error("the array has more than {limit} axes")]
    Axes { limit: usize },
    /// numpy drops that character when it reads the string.
    #[error("string {index} ends with U+0000, which a .npy file cannot contain")]
    TrailingNul { index: usize },
}

impl NpyFault {
    fn class(&self) -> Class {
        match self {
            Self::NotNpy | Self::Header { .. } | Self::Utf8 { .. } | Self::Character { .. } => FileCause::Malformed,
            Self::Version { .. } | Self::HeaderLength { .. } | Self::Axes { .. } | Self::TrailingNul { .. } => {
                FileCause::Unsupported
            }
        }
    }
}

/// A `.npz` file cannot be read or written. The error's place has the name of the array. Variants about a member without an
/// array's name have the member's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NpzFault {
    #[error("it is damaged or truncated")]
    Damaged,
    #[error("two members have the same name")]
    SameName,
    #[error("members overlap")]
    Overlap,
    #[error("member {} is not a .npy file", quoted(.member))]
    NotArray { member: String },
    #[error("the member's data cannot be found")]
    NoData,
    #[error("the member's size in the directory is wrong")]
    DirectorySize,
    #[error("the member's size is not that of the directory")]
    Size,
    /// `said` is what the crate `zip` says of a member's data.
    #[error("the member is corrupt: {said}")]
    Corrupt { said: String },
    #[error("member {} is encrypted", quoted(.member))]
    Encrypted { member: String },
    #[error("member {} is compressed by {method}; only deflate is supported", quoted(.member))]
    Compression { member: String, method: zip::CompressionMethod },
    /// `said` is what the crate `zip` says of an archive.
    #[error("unsupported archive: {said}")]
    Library { said: String },
    /// `said` is what the crate `zip` says of a member that cannot be written.
    #[error("the archive cannot have this member: {said}")]
    Member { said: String },
    #[error("the last array lacks {}", counted(*.left, "byte"))]
    Incomplete { left: u64 },
}

impl NpzFault {
    fn class(&self) -> Class {
        match self {
            Self::Damaged
            | Self::SameName
            | Self::Overlap
            | Self::NotArray { .. }
            | Self::NoData
            | Self::DirectorySize
            | Self::Size
            | Self::Corrupt { .. } => FileCause::Malformed,
            Self::Encrypted { .. } | Self::Compression { .. } | Self::Library { .. } => FileCause::Unsupported,
            Self::Member { .. } | Self::Incomplete { .. } => FileCause::Request,
        }
    }
}

/// A safetensors file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SafetensorsFault {
    #[error("it has {}, fewer than the length of its header takes", counted(*.size, "byte"))]
    NoLength { size: u64 },
    #[error("its header is to have {bytes} bytes, at most {most} are possible")]
    HeaderLength { bytes: u64, most: u64 },
    /// `said` is what the parser says.
    #[error("{said}")]
    Json { said: String },
    #[error("its tensors take {takes} bytes, but {found} follow the header")]
    DataLength { takes: u64, found: u64 },
    #[error("the name {} is given twice", quoted(.name))]
    SameName { name: String },
    #[error("{} of {element_type} do not fill whole bytes, which safetensors demands", counted(*.elements, "element"))]
    NotWhole { elements: u64, element_type: ElementType },
    #[error("the header would have {bytes} bytes; a safetensors file can have {limit}")]
    NewHeaderLength { bytes: u64, limit: u64 },
    #[error("the output would have two tensors of this name")]
    SameEntry,
    #[error("the parts of the tensor have {found} bytes, and its elements take {expected}")]
    EntryBytes { found: u64, expected: u64 },
}

impl SafetensorsFault {
    fn class(&self) -> Class {
        match self {
            Self::NoLength { .. }
            | Self::HeaderLength { .. }
            | Self::Json { .. }
            | Self::DataLength { .. }
            | Self::SameName { .. } => FileCause::Malformed,
            Self::NotWhole { .. } => FileCause::Unsupported,
            Self::NewHeaderLength { .. } => FileCause::TooLarge,
            Self::SameEntry | Self::EntryBytes { .. } => FileCause::Request,
        }
    }
}

impl From<WireError> for FileError {
    fn from(error: WireError) -> Self {
        let (class, offset): (Class, _) = match error {
            WireError::Read(error) => return FileCause::Read { bytes: None, error }.into(),
            WireError::OutOfMemory { bytes } => return FileCause::OutOfMemory { bytes }.into(),
            WireError::TooLong { offset, .. } => (FileCause::Unsupported, Some(offset)),
            WireError::Truncated { offset } | WireError::Varint { offset } | WireError::Key { offset, .. } => {
                (FileCause::Malformed, Some(offset))
            }
            WireError::FieldType { .. } | WireError::Repeated { .. } | WireError::Utf8 { .. } => {
                (FileCause::Malformed, None)
            }
        };
        let error = FileError::from(class(FileFault(Fault::Wire(error))));
        offset.into_iter().fold(error, Self::at)
    }
}

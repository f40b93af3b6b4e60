//! File formats by extension.

use std::path::Path;

use clap::ValueEnum;

use crate::failure::Failure;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FileFormat {
    /// ONNX `raw_data` alone.
    Bin,
    /// numpy's array file.
    Npy,
    /// numpy's archive of arrays.
    Npz,
    /// ONNX `ModelProto`.
    Onnx,
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

    /// Whether a file has one tensor.
    pub const fn is_single(self) -> bool {
        matches!(self, FileFormat::Bin | FileFormat::Npy | FileFormat::Pb)
    }

    /// The extension of such files.
    pub const fn extension(self) -> &'static str {
        match self {
            FileFormat::Bin => "bin",
            FileFormat::Npy => "npy",
            FileFormat::Npz => "npz",
            FileFormat::Onnx => "onnx",
            FileFormat::Pb => "pb",
            FileFormat::Safetensors => "safetensors",
        }
    }
}

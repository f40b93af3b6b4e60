//! File formats by extension, `.bin` files, and atomic writing.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use wgpu_cast::{ElementType, Tensor};

use crate::failure::Failure;
use crate::output::counted;

/// The format of a tensor file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// ONNX `raw_data` alone.
    Bin,
    /// numpy's array file.
    Npy,
    /// ONNX `TensorProto`.
    Pb,
}

impl FileFormat {
    /// The format that the file's extension names.
    ///
    /// # Errors
    /// The extension is another one, or missing.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().map(|ending| ending.to_ascii_lowercase()) {
            Some(ending) if ending == "bin" => Ok(FileFormat::Bin),
            Some(ending) if ending == "npy" => Ok(FileFormat::Npy),
            Some(ending) if ending == "pb" => Ok(FileFormat::Pb),
            _ => {
                let what = "unknown file extension (expected .bin, .npy or .pb)";
                Err(Failure::Usage(format!("{}: {what}", path.display())))
            }
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

/// Writes a file from its parts, atomically: to a temporary file in the same folder, which is then renamed. Links are
/// followed. Devices and pipes are written to directly.
///
/// # Errors
/// The file system refuses it. The temporary file is removed then.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<(), Failure> {
    let at = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let metadata = fs::metadata(&at).ok();
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = fs::OpenOptions::new().write(true).open(&at).map_err(|e| Failure::at(path, e))?;
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        return written.map_err(|e| Failure::at(path, format!("cannot write: {e}")));
    }
    let folder = at.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cast-").suffix(".tmp");
    #[cfg(unix)]
    {
        // The permissions of any new file. By default a temporary file is readable only by its owner.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(|e| Failure::at(path, format!("cannot write: {e}")))?;
    for part in parts {
        file.write_all(part).map_err(|e| Failure::at(path, format!("cannot write: {e}")))?;
    }
    if let Some(metadata) = metadata {
        // A file that is replaced keeps its permissions.
        fs::set_permissions(file.path(), metadata.permissions()).map_err(|e| Failure::at(path, e))?;
    }
    file.persist(&at).map_err(|e| Failure::at(path, format!("cannot write: {}", e.error)))?;
    Ok(())
}

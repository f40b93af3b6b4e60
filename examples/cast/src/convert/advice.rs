//! Recognises files that are not what their names say, and tells what to do with them.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;
use crate::files::FileFormat;
use crate::text::printable;

/// The number of first bytes that are read. The mark of a tar archive is at byte 257.
const HEAD: usize = 512;

const PICKLE: &str = "pickles can run any code, so that they are not read here; in Python, load it with \
    torch.load(FILE, weights_only=True) and save its tensors with safetensors.torch.save_file";

const GGUF: &str = "its blocks of quantized values are not read here; convert the checkpoint that it was made from";
const LFS: &str = "run `git lfs pull` in its repository";
const DOWNLOAD: &str = "download the file itself (on Hugging Face by the address with /resolve/, not /blob/)";

/// The first bytes of a file, what the file is, and what to do.
const MAGIC: [(&[u8], &str, &str); 15] = [
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", LFS),
    (b"version https://hawser", "a pointer of Git LFS, not the file itself", LFS),
    (b"GGUF", "a GGUF file of llama.cpp", GGUF),
    (b"lmgg", "a GGML file of llama.cpp", GGUF),
    (b"tjgg", "a GGML file of llama.cpp", GGUF),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes it", "load it in Python and save its arrays as .npz"),
    (b"\x1f\x8b\x08", "a file compressed with gzip", "decompress it first (gunzip FILE)"),
    (b"\xfd7zXZ\0", "a file compressed with xz", "decompress it first (unxz FILE)"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd", "decompress it first (unzstd FILE)"),
    (b"\x04\x22\x4d\x18", "a file compressed with lz4", "decompress it first (unlz4 FILE)"),
    (b"BZh", "a file compressed with bzip2", "decompress it first (bunzip2 FILE)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    (b"%PDF-", "a PDF document", "download the model itself"),
    (b"<?xml", "an XML document, as servers send it in place of a file", DOWNLOAD),
];

/// What a file is.
struct Advice {
    what: &'static str,
    help: String,
    /// The format of a file that can be converted.
    format: Option<FileFormat>,
}

impl Advice {
    fn new(what: &'static str, help: impl Into<String>) -> Option<Self> {
        Some(Self { what, help: help.into(), format: None })
    }

    fn of_format(format: FileFormat, what: &'static str) -> Option<Self> {
        Some(Self { what, help: format!("add --in-format {}", format.extension()), format: Some(format) })
    }
}

impl Display for Advice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.help)
    }
}

/// Replaces the failure to read a file: if it is known what the file is, the new failure says so.
pub fn explained(path: &Path, format: FileFormat, failure: Failure) -> Failure {
    let Some((head, size)) = head(path).filter(|_| matches!(failure, Failure::Work(_))) else { return failure };
    // The file is what its name says. The length of its header only happens to begin like the mark of another kind.
    if format == FileFormat::Safetensors && head.get(8) == Some(&b'{') {
        return failure;
    }
    match known(path, &head, size) {
        Some(advice) if advice.format != Some(format) => Failure::at(path, format_args!("it is {advice}")),
        Some(_) => failure,
        None => match short_text(&head, size) {
            Some(text) => Failure::Work(format!("{failure} (the file is text: \"{}\")", printable(&text))),
            None => failure,
        },
    }
}

/// Refuses a file of a known kind whose extension says nothing, or says only that it has raw codes.
///
/// # Errors
/// The file is of a known kind.
pub fn check_unnamed(path: &Path, as_codes: bool) -> Result<(), Failure> {
    let Some(advice) = head(path).and_then(|(head, size)| known(path, &head, size)) else { return Ok(()) };
    let codes = if as_codes { "; --in-format bin reads it as raw codes" } else { "" };
    Err(Failure::at(path, format_args!("it is {advice}{codes}")))
}

/// Says what the first known file of a folder is, for the failure of a folder without files to convert.
pub fn of_folder(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let mut told = files.iter().filter_map(|file| {
        let (head, size) = head(file)?;
        let name = file.file_name()?.to_string_lossy().into_owned();
        Some(format!("; {} is {}", printable(&name), known(file, &head, size)?))
    });
    told.next().unwrap_or_default()
}

/// The first bytes of a file, and its size. `None` for folders, and for pipes, which can be read only once.
fn head(path: &Path) -> Option<(Vec<u8>, u64)> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head)).ok()?;
    Some((head, metadata.len()))
}

/// Recognises a file by marks that no file of tensors has by chance.
fn known(path: &Path, head: &[u8], size: u64) -> Option<Advice> {
    if let Some((_, what, help)) = MAGIC.iter().find(|(magic, _, _)| head.starts_with(magic)) {
        return Advice::new(what, *help);
    }
    let start = head.trim_ascii_start().iter().take(14).map(u8::to_ascii_lowercase).collect::<Vec<_>>();
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") || start.starts_with(b"<head") {
        return Advice::new("an HTML page, not a file of tensors", DOWNLOAD);
    }
    if head.starts_with(b"PK\x03\x04") {
        return zip(path, head);
    }
    if is_pickle(head) {
        return Advice::new("a Python pickle, as torch.save wrote it", PICKLE);
    }
    if head.get(257..262) == Some(b"ustar") {
        return Advice::new("a tar archive", "unpack it first (tar -xf FILE)");
    }
    if head.get(4..8) == Some(b"TFL3") {
        return Advice::new(
            "a model of TensorFlow Lite",
            "convert it to ONNX first (python -m tf2onnx.convert --tflite FILE)",
        );
    }
    if head.starts_with(b"\x93NUMPY") {
        return Advice::of_format(FileFormat::Npy, "a .npy file");
    }
    let header = head.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let fits = header.is_some_and(|bytes| bytes >= 2 && bytes.saturating_add(8) <= size);
    if fits && head.get(8..10).is_some_and(|start| start == b"{\"" || start == b"{}") {
        return Advice::of_format(FileFormat::Safetensors, "a safetensors file");
    }
    None
}

/// Recognises a zip archive by its first member's name and by its own name.
fn zip(path: &Path, head: &[u8]) -> Option<Advice> {
    let length = head.get(26..28).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    let name = head.get(30..30 + length).map(String::from_utf8_lossy).unwrap_or_default();
    if name.ends_with(".npy") {
        return Advice::of_format(FileFormat::Npz, "a .npz archive");
    }
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let is_torch = ["bin", "ckpt", "pt", "pth"].iter().any(|torch| extension.as_deref() == Some(torch.as_ref()));
    if is_torch || name.ends_with("/data.pkl") {
        return Advice::new("a checkpoint of PyTorch, an archive with a pickle", PICKLE);
    }
    match &*name {
        "metadata.json" | "config.json" | "model.weights.h5" => {
            Advice::new("an archive of Keras", "load it in Python and save its arrays as .npz")
        }
        _ => Advice::new("a zip archive", "unpack it first"),
    }
}

/// Recognises a pickle of the protocols 2 to 5 by the first opcode that Python or PyTorch writes.
fn is_pickle(head: &[u8]) -> bool {
    matches!(head, [0x80, 2..=5, b'}' | b']' | b'(' | b'c' | b'\x8a' | b'\x95', ..])
}

/// The first line of a short text, such as the answer of a server.
fn short_text(head: &[u8], size: u64) -> Option<String> {
    let text = std::str::from_utf8(head).ok().filter(|_| size <= HEAD as u64)?.trim();
    let is_text = !text.is_empty() && !text.contains(|letter: char| letter.is_control() && !letter.is_whitespace());
    is_text.then(|| text.lines().next().unwrap_or_default().to_owned())
}

//! The header of a `.npy` file. It is untrusted, so it is checked before npyz parses it.

use std::fs::File;
use std::io::Read;

use npyz::NpyHeader;

/// The longest header that is accepted; numpy has the same limit.
const LONGEST: usize = 10_000;

/// The maximum number of axes; numpy has the same limit.
const MOST_AXES: usize = 64;

/// Reads the header. Returns it with the offset of the data.
///
/// # Errors
/// The file does not start with the header of a plain array.
pub fn read(file: &mut File) -> Result<(NpyHeader, u64), String> {
    let mut bytes = vec![0; 8];
    fill(file, &mut bytes)?;
    if &bytes[..6] != b"\x93NUMPY" {
        return Err("not a .npy file".to_owned());
    }
    let length_bytes = match (bytes[6], bytes[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => return Err(format!("unsupported .npy format version {major}.{minor}")),
    };
    let mut length = [0; 4];
    fill(file, &mut length[..length_bytes])?;
    bytes.extend_from_slice(&length[..length_bytes]);
    let start = bytes.len();
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(format!("the header has {length} bytes, the limit is {LONGEST}"));
    }
    bytes.resize(start + length, 0);
    fill(file, &mut bytes[start..])?;
    replace_float8(&mut bytes[start..]);
    drop_long_suffixes(&mut bytes[start..]);
    check(&bytes[start..])?;
    let header = NpyHeader::from_reader(&bytes[..]).map_err(|e| format!("bad header: {e}"))?;
    if header.shape().len() > MOST_AXES {
        return Err(format!("the array has {} axes, the limit is {MOST_AXES}", header.shape().len()));
    }
    Ok((header, bytes.len() as u64))
}

fn fill(file: &mut File, bytes: &mut [u8]) -> Result<(), String> {
    file.read_exact(bytes).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => "not a .npy file, or its header is truncated".to_owned(),
        _ => e.to_string(),
    })
}

/// ml_dtypes saves float8_e5m2 as `<f1`, and its other types as raw bytes. npyz rejects `f1`, so it becomes raw bytes
/// too.
fn replace_float8(text: &mut [u8]) {
    if let Some(at) = text.windows(5).position(|part| part == b"'<f1'" || part == b"'|f1'") {
        text[at + 2] = b'V';
    }
}

/// Removes the `L` of `2L`: Python 2 wrote long integers so.
fn drop_long_suffixes(text: &mut [u8]) {
    for at in 1..text.len().saturating_sub(1) {
        if text[at] == b'L' && text[at - 1].is_ascii_digit() && b",) ".contains(&text[at + 1]) {
            text[at] = b' ';
        }
    }
}

/// Rejects text that no plain array's header contains, before npyz parses it: npyz's time grows exponentially with the
/// depth of brackets, and its number of elements overflows silently.
fn check(text: &[u8]) -> Result<(), String> {
    if text.iter().filter(|byte| b"([{".contains(byte)).count() > 2 {
        return Err("structured dtypes are not supported".to_owned());
    }
    if text.iter().any(|byte| b"+-".contains(byte)) {
        return Err("bad header: an axis length is negative or an expression".to_owned());
    }
    let words = text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    let mut product = 1u64;
    for word in words.filter(|word| word.first().is_some_and(u8::is_ascii_digit)) {
        let number = std::str::from_utf8(word).unwrap_or("");
        let factor = number.parse::<u64>().map_err(|_| format!("bad header: invalid axis length {number}"))?;
        product = product.checked_mul(factor.max(1)).ok_or("bad header: the number of elements overflows")?;
    }
    Ok(())
}

//! The header of a `.npy` file: a dictionary of Python. It is untrusted, so that only the forms that numpy writes are
//! accepted.

use crate::error::{FileCause, FileError, NpyFault};
use crate::input::{ReadAt, read_at};
use crate::onnx::MOST_DIMS;

/// The longest header that is accepted, in bytes; numpy has the same limit.
const LONGEST: usize = 10_000;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The data starts at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// The number of digits for which the length of the slowest axis gets room. numpy leaves that room behind the dictionary,
/// so that a program can append to the array and write a larger length in place.
const GROWTH_DIGITS: usize = 21;

/// The header of a `.npy` file of any dtype. The dtype need not have an element type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpyHeader {
    /// The dtype, such as `<f4` or `|O`. A structured dtype is the list of its fields, as in the file.
    pub dtype: String,
    /// Whether the first axis varies fastest instead of the last one.
    pub column_major: bool,
    /// The number of elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// The first byte of the data.
    pub data_offset: u64,
}

impl NpyHeader {
    /// Reads the header at the beginning of the input. The data behind it is not looked at.
    ///
    /// # Errors
    /// [`FileCause::Read`] if the input cannot be read; [`FileCause::Malformed`] if it does not start like a `.npy` file,
    /// if it ends inside the header, or if the header is not that of an array; [`FileCause::Unsupported`] if the version
    /// of the format is not 1.0, 2.0 or 3.0, and if the header has more than 10,000 bytes or more axes than numpy allows
    /// (64).
    pub fn read(input: &dyn ReadAt) -> Result<Self, FileError> {
        Self::parse(input).map_err(|error| error.in_format(".npy file"))
    }

    fn parse(input: &dyn ReadAt) -> Result<Self, FileError> {
        let mut start = [0; 12];
        fill(input, 0, &mut start[..10])?;
        if !start.starts_with(MAGIC) {
            return Err(NpyFault::NotNpy.into());
        }
        let (length, offset) = match (start[6], start[7]) {
            (1, 0) => (usize::from(u16::from_le_bytes([start[8], start[9]])), 10),
            (2 | 3, 0) => {
                fill(input, 10, &mut start[10..])?;
                (u32::from_le_bytes([start[8], start[9], start[10], start[11]]) as usize, 12)
            }
            (major, minor) => return Err(NpyFault::Version { major, minor }.into()),
        };
        if length > LONGEST {
            return Err(NpyFault::HeaderLength { bytes: length as u64, limit: LONGEST as u64 }.into());
        }
        let mut text = vec![0; length];
        fill(input, offset, &mut text)?;
        let text = match start[6] {
            // Versions 1.0 and 2.0 have Latin-1, in which each byte is the code of its Unicode character.
            1 | 2 => text.into_iter().map(char::from).collect(),
            _ => String::from_utf8(text).map_err(|_| bad("it is not text"))?,
        };
        let (dtype, column_major, shape) = Parser { rest: &text }.dictionary()?;
        Ok(Self { dtype, column_major, shape, data_offset: offset + length as u64 })
    }
}

fn fill(input: &dyn ReadAt, offset: u64, bytes: &mut [u8]) -> Result<(), FileError> {
    read_at(input, offset, bytes).map_err(|error| match error.cause() {
        FileCause::Read { error, .. } if error.kind() == std::io::ErrorKind::UnexpectedEof => NpyFault::NotNpy.into(),
        _ => error,
    })
}

/// The first bytes of a file, up to the data. They are the bytes that numpy writes.
pub(super) fn bytes(dtype: &str, column_major: bool, shape: &[u64]) -> Vec<u8> {
    let order = if column_major { "True" } else { "False" };
    let axes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({}{comma}), }}", axes.join(", "));
    let slowest = if column_major { axes.last() } else { axes.first() };
    let growth = slowest.map_or(0, |axis| GROWTH_DIGITS - axis.len());
    let start = MAGIC.len() + 4;
    let used = start + text.len() + growth + 1;
    // numpy adds 64 bytes where the size is a multiple of 64 already.
    let padded = used + ALIGNMENT - used % ALIGNMENT;
    text.push_str(&" ".repeat(padded - start - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
}

/// A parser of the dictionary, which has exactly three entries.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn dictionary(mut self) -> Result<(String, bool, Vec<u64>), FileError> {
        let (mut dtype, mut column_major, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            let is_new = match key {
                "descr" => dtype.replace(self.dtype()?).is_none(),
                "fortran_order" => column_major.replace(self.bool()?).is_none(),
                "shape" => shape.replace(self.shape()?).is_none(),
                _ => return Err(bad("it has an unknown key")),
            };
            if !is_new {
                return Err(bad("it has a key twice"));
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim_matches([' ', '\n', '\r', '\t', '\0']).is_empty() {
            return Err(bad("text follows the dictionary"));
        }
        match (dtype, column_major, shape) {
            (Some(dtype), Some(column_major), Some(shape)) => Ok((dtype.to_owned(), column_major, shape)),
            _ => Err(bad("descr, fortran_order or shape is missing")),
        }
    }

    fn dtype(&mut self) -> Result<&'a str, FileError> {
        let text = self.rest.trim_start();
        if !text.starts_with('[') {
            return self.string();
        }
        // A list of fields. It is kept as text, so that only its end is looked for.
        let mut depth = 0;
        loop {
            let at = self.rest.find(['[', ']', '(', ')', '\'', '"']).ok_or_else(|| bad("a list has no end"))?;
            let (found, rest) = self.rest[at..].split_at(1);
            match found {
                "[" | "(" => depth += 1,
                "]" | ")" => depth -= 1,
                _ => {
                    self.rest = &self.rest[at..];
                    self.string()?;
                    continue;
                }
            }
            self.rest = rest;
            if depth == 0 {
                return Ok(&text[..text.len() - rest.len()]);
            }
        }
    }

    fn bool(&mut self) -> Result<bool, FileError> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(bad("fortran_order is neither True nor False")),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, FileError> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            if shape.len() == MOST_DIMS {
                return Err(NpyFault::Axes { limit: MOST_DIMS }.into());
            }
            if self.take('-') {
                return Err(bad("an axis length is negative"));
            }
            let word = self.word();
            // Python 2 wrote long integers with an L at the end.
            let digits = word.strip_suffix('L').unwrap_or(word);
            let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            let axis = if is_number { digits.parse().ok() } else { None };
            shape.push(axis.ok_or_else(|| bad("invalid axis length"))?);
            if !self.take(',') {
                self.expect(')')?;
                // In Python, `(3)` is a number; only `(3,)` is a tuple.
                return if shape.len() == 1 { Err(bad("shape is not a tuple")) } else { Ok(shape) };
            }
        }
        Ok(shape)
    }

    fn string(&mut self) -> Result<&'a str, FileError> {
        let quote = if self.take('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect('\'')?;
        }
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| bad("a string has no end"))?;
        self.rest = rest;
        if text.contains('\\') { Err(bad("a string has an escape")) } else { Ok(text) }
    }

    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), FileError> {
        if self.take(wanted) { Ok(()) } else { Err(bad("it is not a dictionary of descr, fortran_order and shape")) }
    }
}

fn bad(reason: &'static str) -> FileError {
    NpyFault::Header { reason }.into()
}

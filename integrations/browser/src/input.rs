//! Files that JavaScript reads for this module.

use std::cell::RefCell;
use std::io;

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wgpu_cast_files::ReadAt;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A file that is read at any place, at once: in a worker by FileReaderSync. */
export interface Reader {
  readonly size: number;
  /** These bytes, or fewer where the file ends. */
  read(offset: number, bytes: number): Uint8Array;
}
";

#[wasm_bindgen]
extern "C" {
    /// A file of the page.
    #[wasm_bindgen(typescript_type = "Reader")]
    pub type Reader;

    #[wasm_bindgen(method, getter)]
    fn size(this: &Reader) -> f64;

    #[wasm_bindgen(method, catch)]
    fn read(this: &Reader, offset: f64, bytes: f64) -> Result<Uint8Array, JsValue>;
}

thread_local! {
    /// The readers in use. Inputs of plans may move to other threads elsewhere, which values of JavaScript cannot, so
    /// an input has only the number of its reader.
    static READERS: RefCell<Vec<Option<Reader>>> = const { RefCell::new(Vec::new()) };
}

/// What a plan reads.
pub enum Input {
    /// The reader of this number.
    File(usize),
    /// Bytes of this module.
    Memory(Vec<u8>),
}

impl Input {
    pub fn file(reader: Reader) -> Self {
        READERS.with_borrow_mut(|readers| {
            let number = readers.iter().position(Option::is_none).unwrap_or(readers.len());
            if number == readers.len() {
                readers.push(None);
            }
            readers[number] = Some(reader);
            Self::File(number)
        })
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Self::File(number) = self {
            READERS.with_borrow_mut(|readers| readers[*number] = None);
        }
    }
}

impl ReadAt for Input {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let number = match self {
            Self::File(number) => *number,
            Self::Memory(bytes) => return bytes.read_exact_at(offset, buffer),
        };
        let read = READERS.with_borrow(|readers| {
            let reader = readers[number].as_ref().ok_or(io::ErrorKind::NotFound)?;
            reader.read(offset as f64, buffer.len() as f64).map_err(|error| io::Error::other(text(&error)))
        })?;
        if read.length() as usize != buffer.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read.copy_to(buffer);
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        match self {
            Self::File(number) => READERS.with_borrow(|readers| {
                let reader = readers[*number].as_ref().ok_or(io::ErrorKind::NotFound)?;
                Ok(reader.size() as u64)
            }),
            Self::Memory(bytes) => bytes.size(),
        }
    }
}

/// The message of an error of JavaScript.
fn text(error: &JsValue) -> String {
    error.dyn_ref::<js_sys::Error>().map_or_else(|| format!("{error:?}"), |error| String::from(error.message()))
}

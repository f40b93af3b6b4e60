//! Strings to numbers.

use super::BLOCK_LEN;
use super::literal::trim;
use super::number::{self, Fault};
use crate::bits::float_env::with_default_modes;
use crate::bits::packing::pack_words;
use crate::bits::threads::find_first;
use crate::types::conversion::Conversion;
use crate::types::element::{ElementType, Kind};
use crate::types::error::{CastFault, Error, cut};
use crate::types::options::CastOptions;
use crate::types::string_array::{CHUNK_LEN, StringArray, StringChunk};
use crate::types::tensor::{Tensor, zeroed};

/// Reads every string as a number.
///
/// # Errors
/// [`CastFault::Literal`] with the first string that is no such number; [`CastFault::OutOfMemory`] if there is no
/// memory for the numbers.
pub(crate) fn parse(
    tensor: &Tensor,
    strings: &StringArray,
    to: ElementType,
    options: &CastOptions,
) -> Result<Tensor, Error> {
    match (to.kind(), to.code_bits()) {
        (Kind::Bool, _) => codes(tensor, strings, to, None, number::truth),
        (Kind::Int { .. }, _) => codes(tensor, strings, to, None, number::integer),
        (Kind::Float(_), 64) => codes(tensor, strings, to, None, number::f64_bits),
        (Kind::Float(_), 32) => codes(tensor, strings, to, None, number::f32_bits),
        (Kind::Float(_), _) => {
            let conversion = Conversion::new(ElementType::DOUBLE, to, options)?;
            codes(tensor, strings, to, Some(&conversion), number::f64_bits_to_odd)
        }
        (Kind::String, _) => Ok(tensor.clone()),
    }
}

/// Reads every string, and converts the values whose bits are not the codes themselves.
fn codes(
    tensor: &Tensor,
    strings: &StringArray,
    to: ElementType,
    conversion: Option<&Conversion>,
    read: impl Fn(&str) -> Result<u64, Fault> + Sync,
) -> Result<Tensor, Error> {
    let bytes = to.packed_bytes(tensor.len() as u64).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::shape_overflow(to, tensor.shape()))?;
    let mut destination = zeroed(ElementType::STRING, to, bytes)?;
    let bits = to.code_bits();
    let size = CHUNK_LEN * bits as usize / 8;
    let fault = first_fault(strings.chunks(), &mut destination, size, |chunk, destination| {
        with_default_modes(|| convert(chunk, destination, bits, conversion, &read))
    });
    match fault {
        Some((index, fault)) => Err(error(to, index, strings.get(index), fault)),
        None => Ok(tensor.with_bytes(to, destination)),
    }
}

/// The index of a string that cannot be read, within its chunk or its tensor, and the reason.
type FaultAt = (usize, Fault);

/// Runs `work` on every chunk and its bytes of the destination, on all threads if there are at least two chunks.
/// Returns the first fault in the tensor's order, not the first in time.
fn first_fault(
    chunks: &[StringChunk],
    destination: &mut [u8],
    size: usize,
    work: impl Fn(&StringChunk, &mut [u8]) -> Result<(), FaultAt> + Sync,
) -> Option<FaultAt> {
    find_first(chunks, destination, size, &|chunk, strings, bytes| {
        work(strings, bytes).err().map(|(index, fault)| (chunk * CHUNK_LEN + index, fault))
    })
}

fn convert(
    chunk: &StringChunk,
    destination: &mut [u8],
    bits: u32,
    conversion: Option<&Conversion>,
    read: impl Fn(&str) -> Result<u64, Fault>,
) -> Result<(), FaultAt> {
    let (mut low, mut high) = ([0; BLOCK_LEN], [0; BLOCK_LEN]);
    let mut strings = chunk.iter().enumerate();
    for block in destination.chunks_mut(BLOCK_LEN * bits as usize / 8) {
        let mut count = 0;
        for (index, string) in strings.by_ref().take(BLOCK_LEN) {
            let code = read(trim(string)).map_err(|fault| (index, fault))?;
            (low[count], high[count]) = (code as u32, (code >> 32) as u32);
            count += 1;
        }
        let (low, high) = (&mut low[..count], &mut high[..count]);
        if let Some(conversion) = conversion {
            conversion.convert(low, high);
        }
        pack_words(low, high, bits, block);
    }
    Ok(())
}

fn error(to: ElementType, index: usize, string: &str, fault: Fault) -> Error {
    const SHOWN: usize = 40;
    let literal = cut(string, SHOWN);
    let is_number = match fault {
        Fault::Invalid => false,
        Fault::OutOfRange => true,
    };
    Error::cast(ElementType::STRING, to, CastFault::Literal { index, literal, is_number })
}

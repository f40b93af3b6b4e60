//! Strings to numbers.

#[cfg(not(target_family = "wasm"))]
use rayon::prelude::*;

use super::literal::trim;
use super::number::{self, Fault};
use crate::conversion::Conversion;
use crate::cpu::float_env::with_default_modes;
use crate::cpu::{BLOCK, pack};
use crate::element::{ElementType, Kind};
use crate::error::{Error, cut};
use crate::options::CastOptions;
use crate::tensor::{Tensor, zeroed};
use crate::text::{PIECE, Piece, Strings};

/// Every string as a number.
///
/// # Errors
/// [`Error::InvalidLiteral`] and [`Error::LiteralOutOfRange`] with the first such element; [`Error::OutOfMemory`] where
/// there is no memory for the numbers.
pub(crate) fn parse(
    tensor: &Tensor,
    strings: &Strings,
    to: ElementType,
    options: &CastOptions,
) -> Result<Tensor, Error> {
    match (to.kind(), to.code_bits()) {
        (Kind::Bool, _) => codes(tensor, strings, to, None, number::truth),
        (Kind::Int { .. }, _) => codes(tensor, strings, to, None, number::integer),
        (Kind::Float(_), 64) => codes(tensor, strings, to, None, number::double),
        (Kind::Float(_), 32) => codes(tensor, strings, to, None, number::single),
        (Kind::Float(_), _) => {
            let conversion = Conversion::new(ElementType::DOUBLE, to, options)?;
            codes(tensor, strings, to, Some(&conversion), number::odd)
        }
        (Kind::String, _) => Ok(tensor.clone()),
    }
}

/// What `read` makes of every string, converted where it is not the code itself.
fn codes(
    tensor: &Tensor,
    strings: &Strings,
    to: ElementType,
    conversion: Option<&Conversion>,
    read: impl Fn(&str) -> Result<u64, Fault> + Sync,
) -> Result<Tensor, Error> {
    let bytes = to.packed_bytes(tensor.len() as u64).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::ShapeOverflow { element_type: to, shape: tensor.shape().to_vec() })?;
    let mut destination = zeroed(ElementType::STRING, to, bytes)?;
    let bits = to.code_bits();
    let fault = first_fault(strings.pieces(), &mut destination, PIECE * bits as usize / 8, |piece, destination| {
        with_default_modes(|| convert(piece, destination, bits, conversion, &read))
    });
    match fault {
        Some((index, fault)) => Err(error(to, index, strings.get(index), fault)),
        None => Ok(tensor.with_bytes(to, destination)),
    }
}

/// Where a string has no number, counted within its piece or its tensor, and why.
type Place = (usize, Fault);

/// `work` on every piece and its bytes of the destination, on all threads where there are at least two pieces. The
/// first fault of all, whichever thread meets one first.
fn first_fault(
    pieces: &[Piece],
    destination: &mut [u8],
    size: usize,
    work: impl Fn(&Piece, &mut [u8]) -> Result<(), Place> + Sync,
) -> Option<Place> {
    let fault = |(piece, (strings, bytes)): (usize, (&Piece, &mut [u8]))| {
        work(strings, bytes).err().map(|(index, fault)| (piece * PIECE + index, fault))
    };
    #[cfg(not(target_family = "wasm"))]
    if pieces.len() > 1 {
        return pieces.par_iter().zip(destination.par_chunks_mut(size)).enumerate().find_map_first(fault);
    }
    pieces.iter().zip(destination.chunks_mut(size)).enumerate().find_map(fault)
}

fn convert(
    piece: &Piece,
    destination: &mut [u8],
    bits: u32,
    conversion: Option<&Conversion>,
    read: impl Fn(&str) -> Result<u64, Fault>,
) -> Result<(), Place> {
    let (mut low, mut high) = ([0; BLOCK], [0; BLOCK]);
    let mut strings = piece.iter().enumerate();
    for block in destination.chunks_mut(BLOCK * bits as usize / 8) {
        let mut count = 0;
        for (index, string) in strings.by_ref().take(BLOCK) {
            let code = read(trim(string)).map_err(|fault| (index, fault))?;
            (low[count], high[count]) = (code as u32, (code >> 32) as u32);
            count += 1;
        }
        let (low, high) = (&mut low[..count], &mut high[..count]);
        if let Some(conversion) = conversion {
            conversion.convert(low, high);
        }
        pack(low, high, bits, block);
    }
    Ok(())
}

fn error(to: ElementType, index: usize, string: &str, fault: Fault) -> Error {
    const SHOWN: usize = 40;
    let literal = cut(string, SHOWN);
    match fault {
        Fault::Invalid => Error::InvalidLiteral { to, index, literal },
        Fault::OutOfRange => Error::LiteralOutOfRange { to, index, literal },
    }
}

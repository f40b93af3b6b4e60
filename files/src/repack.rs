//! Stores codes in another way. The codes themselves do not change.

use wgpu_cast::{ElementType, Error, cpu};

use super::plan::CodeStorage;

/// Stores `len` codes as `to` says; `source` stores them as `from` says. Both slices have exactly the bytes that these
/// codes take. Bits that belong to no code become zero.
pub(super) fn repack(
    element_type: ElementType,
    len: usize,
    [from, to]: [CodeStorage; 2],
    source: &[u8],
    destination: &mut [u8],
) -> Result<(), Error> {
    let bits = code_bits(element_type);
    match (from, to) {
        (CodeStorage::OnePerByte, CodeStorage::OnePerByte) => {
            let mask = (1 << bits) - 1;
            destination.iter_mut().zip(source).for_each(|(to, from)| *to = from & mask);
        }
        (CodeStorage::OnePerByte, _) => cpu::pack_codes(element_type, source, destination)?,
        (_, CodeStorage::OnePerByte) => cpu::unpack_codes(element_type, source, destination)?,
        _ => {
            destination.copy_from_slice(source);
            if from != to {
                swap_bytes(destination, element_type);
            }
            let used = len as u64 * u64::from(bits) % 8;
            if let (Some(last), 1..) = (destination.last_mut(), used) {
                *last &= (1 << used) - 1;
            }
        }
    }
    Ok(())
}

/// The width of one code in bits; 0 for strings.
pub(crate) fn code_bits(element_type: ElementType) -> u32 {
    element_type.bits().unwrap_or(0)
}

/// Reverses the bytes of each code.
pub(super) fn swap_bytes(bytes: &mut [u8], element_type: ElementType) {
    match code_bits(element_type) {
        16 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
        32 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
        64 => bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse),
        _ => {}
    }
}

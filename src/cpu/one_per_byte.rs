//! Packs codes of fewer than 8 bits that lie one in each byte, and unpacks them. NumPy holds the narrow types of
//! ml_dtypes with one code in each byte.

use super::cast_codes;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::layout::CodeLayout::{OnePerByte, Packed};
use crate::types::spec::CastSpec;

/// Packs codes that are given one in each byte, in its low bits. Higher bits are dropped. Bits of the last packed byte
/// that belong to no code become zero. Codes of at least 8 bits are packed already: they are copied.
///
/// ```
/// use wgpu_cast::{ElementType, cpu};
///
/// let mut packed = [0; 2];
/// cpu::pack_codes(ElementType::INT4, &[0x1, 0xf, 0x3], &mut packed)?;
/// assert_eq!(packed, [0xf1, 0x03]);
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// [`Error::ElementWidth`] for STRING; [`Error::Shape`] if `codes` ends inside a code, or if `packed` does not have the
/// number of bytes that the codes take.
pub fn pack_codes(element_type: ElementType, codes: &[u8], packed: &mut [u8]) -> Result<(), Error> {
    match check(element_type, codes.len(), packed.len())? {
        ..8 => cast_codes(&same(element_type), [OnePerByte, Packed], codes, codes.len(), packed),
        _ => {
            packed.copy_from_slice(codes);
            Ok(())
        }
    }
}

/// The opposite of [`pack_codes`]: one code in each byte, with zeros above its width.
///
/// # Errors
/// [`Error::ElementWidth`] for STRING; [`Error::Shape`] if `codes` ends inside a code, or if `packed` does not have the
/// number of bytes that the codes take.
pub fn unpack_codes(element_type: ElementType, packed: &[u8], codes: &mut [u8]) -> Result<(), Error> {
    match check(element_type, codes.len(), packed.len())? {
        ..8 => cast_codes(&same(element_type), [Packed, OnePerByte], packed, codes.len(), codes),
        _ => {
            codes.copy_from_slice(packed);
            Ok(())
        }
    }
}

/// The cast of a type of fewer than 8 bits to itself keeps every code.
fn same(element_type: ElementType) -> CastSpec {
    CastSpec::new(element_type, element_type)
}

/// The width of the codes, if both sides have the bytes of the same number of codes.
fn check(element_type: ElementType, bytes: usize, packed: usize) -> Result<u32, Error> {
    let bits = element_type.bits().ok_or_else(|| Error::no_codes(element_type))?;
    let size = bits.div_ceil(8) as usize;
    let (codes, found) = (bytes.div_ceil(size), packed as u64);
    let expected = element_type.packed_bytes(codes as u64);
    let expected = expected.ok_or_else(|| Error::shape_overflow(element_type, &[codes]))?;
    if found != expected || !bytes.is_multiple_of(size) {
        let found = if found == expected { bytes as u64 } else { found };
        return Err(Error::byte_length(element_type, vec![codes], expected, found));
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{FLOAT16, INT4, STRING, UINT2};

    #[test]
    fn lengths_that_do_not_match_are_errors() {
        let text = |element_type, packed: usize, codes: usize| {
            let [mut a, mut b] = [vec![0; packed], vec![0; codes]];
            let packed = pack_codes(element_type, &b, &mut a).unwrap_err();
            assert_eq!(unpack_codes(element_type, &a, &mut b), Err(packed.clone()));
            packed.to_string()
        };
        assert_eq!(text(INT4, 2, 5), "shape [5] of int4 needs 3 bytes, got 2");
        assert_eq!(text(UINT2, 2, 4), "shape [4] of uint2 needs 1 byte, got 2");
        assert_eq!(text(FLOAT16, 4, 6), "shape [3] of float16 needs 6 bytes, got 4");
        assert_eq!(text(FLOAT16, 4, 3), "shape [2] of float16 needs 4 bytes, got 3");
        assert_eq!(text(STRING, 0, 0), "string elements have no fixed width");
    }

    #[test]
    fn codes_come_back() {
        for &element_type in ElementType::ALL {
            let Some(bits) = element_type.bits() else { continue };
            let codes: Vec<u8> = (0..840u32).map(|i| (i * 157) as u8).collect();
            let elements = codes.len() as u64 / u64::from(bits.div_ceil(8));
            let mut packed = vec![0xff; element_type.packed_bytes(elements).unwrap() as usize];
            pack_codes(element_type, &codes, &mut packed).unwrap();
            let mut back = vec![0xff; codes.len()];
            unpack_codes(element_type, &packed, &mut back).unwrap();
            let mask = if bits < 8 { (1 << bits) - 1 } else { 0xff };
            assert!(back.iter().zip(&codes).all(|(back, code)| *back == code & mask), "{element_type}");
        }
    }
}

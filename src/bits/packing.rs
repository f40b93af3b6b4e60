//! Packs codes into bytes and unpacks them: codes of 2, 4 or 6 bits lie low bits first, wider ones little-endian.

use std::collections::TryReserveError;

/// Reads the code of `bits` bits at `index`, which must lie within `bytes`.
pub(crate) fn read_code(bytes: &[u8], bits: u32, index: usize) -> u64 {
    if bits >= 8 {
        let size = bits as usize / 8;
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[index * size..][..size]);
        return u64::from_le_bytes(word);
    }
    let bit = index as u64 * u64::from(bits);
    let (byte, shift) = ((bit / 8) as usize, bit % 8);
    let next = bytes.get(byte + 1).copied().unwrap_or(0);
    let word = u64::from(u16::from_le_bytes([bytes[byte], next]));
    (word >> shift) & ((1 << bits) - 1)
}

/// Packs codes of `bits` bits. Higher bits of a code are dropped, and the bits after the last code are zero. Memory is
/// reserved only for codes that the iterator promises or yields; if there is none, that is an error.
pub(crate) fn pack_codes(bits: u32, codes: impl Iterator<Item = u64>) -> Result<Vec<u8>, TryReserveError> {
    let mut bytes = Vec::new();
    // The iterator's lower bound never exceeds the number of codes.
    let size = (codes.size_hint().0 as u64).saturating_mul(bits.into()).div_ceil(8);
    bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
    if bits >= 8 {
        let size = bits as usize / 8;
        for code in codes {
            bytes.try_reserve(size)?;
            bytes.extend_from_slice(&code.to_le_bytes()[..size]);
        }
        return Ok(bytes);
    }
    let (mut held, mut filled) = (0, 0);
    for code in codes {
        held |= (code & ((1 << bits) - 1)) << filled;
        filled += bits;
        while filled >= 8 {
            bytes.try_reserve(1)?;
            bytes.push(held as u8);
            held >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        bytes.try_reserve(1)?;
        bytes.push(held as u8);
    }
    Ok(bytes)
}

/// Unpacks codes of `bits` bits, one in each word. Of a 64-bit code, `low` gets the low word and `high` the high word.
pub(crate) fn unpack_words(bytes: &[u8], bits: u32, low: &mut [u32], high: &mut [u32]) {
    match bits {
        ..8 => unpack_small(bytes, bits, low),
        8 => low.iter_mut().zip(bytes).for_each(|(code, &byte)| *code = byte.into()),
        16 => low.iter_mut().zip(chunks(bytes)).for_each(|(code, b)| *code = u16::from_le_bytes(b).into()),
        32 => low.iter_mut().zip(chunks(bytes)).for_each(|(code, b)| *code = u32::from_le_bytes(b)),
        _ => low.iter_mut().zip(high).zip(chunks(bytes)).for_each(|((low, high), b)| {
            let code = u64::from_le_bytes(b);
            (*low, *high) = (code as u32, (code >> 32) as u32);
        }),
    }
}

/// Unpacks codes of fewer than 8 bits, one in each byte.
pub(crate) fn unpack_bytes(bytes: &[u8], bits: u32, codes: &mut [u8]) {
    unpack_small(bytes, bits, codes);
}

fn unpack_small<C: Copy + From<u8>>(bytes: &[u8], bits: u32, codes: &mut [C]) {
    match bits {
        2 => unpack_groups::<2, 4, 1, _>(bytes, codes),
        4 => unpack_groups::<4, 2, 1, _>(bytes, codes),
        _ => unpack_groups::<6, 4, 3, _>(bytes, codes),
    }
}

/// Unpacks groups of `COUNT` codes of `BITS` bits from groups of `SIZE` bytes. The last group may be shorter.
#[inline]
fn unpack_groups<const BITS: u32, const COUNT: usize, const SIZE: usize, C: Copy + From<u8>>(
    bytes: &[u8],
    codes: &mut [C],
) {
    let unpack = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u32::from_le_bytes(word);
        std::array::from_fn::<C, COUNT, _>(|i| C::from((word >> (BITS * i as u32) & ((1 << BITS) - 1)) as u8))
    };
    let whole = (codes.len() / COUNT).min(bytes.len() / SIZE);
    let (groups, rest) = codes.split_at_mut(whole * COUNT);
    for (codes, bytes) in groups.chunks_exact_mut(COUNT).zip(bytes.chunks_exact(SIZE)) {
        codes.copy_from_slice(&unpack(bytes));
    }
    let tail = &bytes[whole * SIZE..];
    rest.copy_from_slice(&unpack(&tail[..tail.len().min(SIZE)])[..rest.len()]);
}

/// Packs codes of fewer than 8 bits, one in each byte of `codes`, into `destination`. Higher bits of a code are
/// dropped. Every byte of `destination` must receive at least one code; its bits after the last code become zero.
pub(crate) fn pack_bytes(codes: &[u8], bits: u32, destination: &mut [u8]) {
    match bits {
        2 => pack_groups(codes, destination, |codes: [u8; 4]| [two(u32::from_le_bytes(codes))]),
        4 => pack_groups(codes, destination, |codes: [u8; 2]| [four(u16::from_le_bytes(codes))]),
        _ => pack_groups(codes, destination, |codes: [u8; 8]| {
            let [a, b, c, d, e, f, ..] = six(u64::from_le_bytes(codes)).to_le_bytes();
            [a, b, c, d, e, f]
        }),
    }
}

/// Packs groups of `N` codes to `M` bytes. The last group may be shorter.
fn pack_groups<const N: usize, const M: usize>(
    codes: &[u8],
    destination: &mut [u8],
    pack: impl Fn([u8; N]) -> [u8; M],
) {
    let (groups, tail) = codes.as_chunks::<N>();
    let whole = groups.len().min(destination.len() / M);
    let (written, rest) = destination.split_at_mut(whole * M);
    for (bytes, &codes) in written.as_chunks_mut().0.iter_mut().zip(groups) {
        *bytes = pack(codes);
    }
    if !rest.is_empty() {
        let mut last = [0; N];
        last[..tail.len()].copy_from_slice(tail);
        let codes = groups.get(whole).copied().unwrap_or(last);
        rest.copy_from_slice(&pack(codes)[..rest.len()]);
    }
}

/// Packs four two-bit codes, one in each byte.
#[inline(always)]
fn two(w: u32) -> u8 {
    // Joins pairs of codes to 4 bits, then both pairs to 8 bits.
    let w = w & 0x0303_0303;
    let w = w | w >> 6;
    (w | w >> 12) as u8
}

/// Packs two four-bit codes, one in each byte.
#[inline(always)]
fn four(w: u16) -> u8 {
    (w & 0xf | w >> 4 & 0xf0) as u8
}

/// Packs eight six-bit codes, one in each byte, to the low 48 bits.
#[inline(always)]
fn six(w: u64) -> u64 {
    // Joins pairs of codes to 12 bits, then pairs of those to 24 bits, then both to 48 bits.
    let w = w & 0x003f_003f_003f_003f | w >> 2 & 0x0fc0_0fc0_0fc0_0fc0;
    let w = w & 0x0000_0fff_0000_0fff | w >> 4 & 0x00ff_f000_00ff_f000;
    w & 0x0000_0000_00ff_ffff | w >> 8 & 0xffff_ff00_0000
}

/// The whole chunks of `N` bytes.
fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.chunks_exact(N).map(|bytes| bytes.try_into().expect("chunks of N bytes"))
}

/// Packs codes of `bits` bits from words, laid out as [`unpack_words`] leaves them. Bits above a code's width are
/// dropped.
pub(crate) fn pack_words(low: &[u32], high: &[u32], bits: u32, bytes: &mut [u8]) {
    match bits {
        ..8 => {
            for (low, bytes) in low.chunks(64).zip(bytes.chunks_mut(8 * bits as usize)) {
                let mut codes = [0; 64];
                codes.iter_mut().zip(low).for_each(|(byte, &code)| *byte = code as u8);
                pack_bytes(&codes, bits, bytes);
            }
        }
        8 => bytes.iter_mut().zip(low).for_each(|(byte, &code)| *byte = code as u8),
        16 => bytes.chunks_exact_mut(2).zip(low).for_each(|(b, &code)| b.copy_from_slice(&(code as u16).to_le_bytes())),
        32 => bytes.chunks_exact_mut(4).zip(low).for_each(|(b, &code)| b.copy_from_slice(&code.to_le_bytes())),
        _ => bytes.chunks_exact_mut(8).zip(low).zip(high).for_each(|((b, &low), &high)| {
            b.copy_from_slice(&(u64::from(low) | u64::from(high) << 32).to_le_bytes());
        }),
    }
}

/// The mask of the used bits in the last byte of `elements` packed codes.
pub(crate) fn used_bits(bits: u32, elements: u64) -> u8 {
    match (elements % 8 * u64::from(bits)) % 8 {
        0 => u8::MAX,
        used => (1 << used) - 1,
    }
}

/// Clears the unused bits in the last byte of `elements` packed codes. `bytes` must be exactly as long as they need.
pub(crate) fn clear_pad(bytes: &mut [u8], bits: u32, elements: u64) {
    if let Some(last) = bytes.last_mut() {
        *last &= used_bits(bits, elements);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back_and_pads_are_zero() {
        for bits in [2, 4, 6, 8, 16, 32, 64] {
            for count in 0..70u64 {
                let mask = u64::MAX >> (64 - bits);
                let codes: Vec<u64> = (0..count).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
                let mut bytes = pack_codes(bits, codes.iter().copied()).unwrap();
                assert_eq!(bytes.len() as u64, (count * u64::from(bits)).div_ceil(8));
                let read: Vec<u64> = (0..count as usize).map(|i| read_code(&bytes, bits, i)).collect();
                assert_eq!(read, codes, "{bits} bits, {count} codes");
                let clean = bytes.clone();
                let pad = bytes.len() as u64 * 8 - count * u64::from(bits);
                if let (Some(last), true) = (bytes.last_mut(), pad > 0) {
                    *last |= 0xffu8 << (8 - pad);
                }
                clear_pad(&mut bytes, bits, count);
                assert_eq!(bytes, clean, "{bits} bits, {count} codes");
            }
        }
    }

    /// Codes in bytes, codes in words and packed bytes give each other, also in an incomplete last group.
    #[test]
    fn bytes_and_words_are_packed_and_unpacked_alike() {
        for bits in [2, 4, 6] {
            for count in 0..70 {
                // Bits above a code's width are dropped.
                let given: Vec<u8> = (1..=count).map(|i: u8| i.wrapping_mul(0x9d)).collect();
                let codes: Vec<u8> = given.iter().map(|code| code & ((1 << bits) - 1)).collect();
                let packed = pack_codes(bits, codes.iter().map(|&code| code.into())).unwrap();
                let mut bytes = vec![0xff; packed.len()];
                pack_bytes(&given, bits, &mut bytes);
                assert_eq!(bytes, packed, "{bits} bits, {count} codes");
                let words: Vec<u32> = given.iter().map(|&code| code.into()).collect();
                bytes.fill(0xff);
                pack_words(&words, &[], bits, &mut bytes);
                assert_eq!(bytes, packed, "{bits} bits, {count} words");
                let mut unpacked = vec![0xff; codes.len()];
                unpack_bytes(&packed, bits, &mut unpacked);
                assert_eq!(unpacked, codes, "{bits} bits, {count} codes");
            }
        }
    }

    /// ONNX: element 0 in the low bits; four float6 codes make a 24-bit little-endian number.
    #[test]
    fn layout() {
        assert_eq!(pack_codes(4, [0x1, 0x2, 0x3].into_iter()).unwrap(), [0x21, 0x03]);
        assert_eq!(pack_codes(2, [3, 2, 1, 0, 3].into_iter()).unwrap(), [0b00_01_10_11, 0b11]);
        assert_eq!(pack_codes(6, [0x3f, 0, 0x3f, 0].into_iter()).unwrap(), [0x3f, 0xf0, 0x03]);
        assert_eq!(pack_codes(16, [0x1234].into_iter()).unwrap(), [0x34, 0x12]);
    }
}

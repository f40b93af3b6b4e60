//! Packs codes of less than a byte, which lie one in each byte, low bits first.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod avx2;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod avx512;

/// Packs codes, one in each byte, into `destination`. Higher bits of a code are dropped. There must be enough codes to
/// fill the destination.
pub(crate) fn pack(codes: &[u8], bits: usize, destination: &mut [u8]) {
    match bits {
        2 => groups(codes, destination, |codes: [u8; 4]| [two(u32::from_le_bytes(codes))]),
        4 => groups(codes, destination, |codes: [u8; 2]| [four(u16::from_le_bytes(codes))]),
        _ => groups(codes, destination, |codes: [u8; 8]| {
            let [a, b, c, d, e, f, ..] = six(u64::from_le_bytes(codes)).to_le_bytes();
            [a, b, c, d, e, f]
        }),
    }
}

/// Packs groups of `N` codes to `M` bytes. The last group may be shorter.
fn groups<const N: usize, const M: usize>(codes: &[u8], destination: &mut [u8], pack: impl Fn([u8; N]) -> [u8; M]) {
    let (codes, _) = codes.as_chunks::<N>();
    let (whole, rest) = destination.as_chunks_mut::<M>();
    for (bytes, &codes) in whole.iter_mut().zip(codes) {
        *bytes = pack(codes);
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&pack(codes[whole.len()])[..rest.len()]);
    }
}

/// Packs four two-bit codes, one in each byte.
#[inline(always)]
fn two(w: u32) -> u8 {
    (w & 0x3 | w >> 6 & 0xc | w >> 12 & 0x30 | w >> 18 & 0xc0) as u8
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

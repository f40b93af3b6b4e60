//! Codes of less than a byte: one code a byte to packed ones, and back.

use bytemuck::Pod;

use super::level::Level;

/// Packs codes that lie one a byte (of 12 bits: one a 16-bit word), low bits first, into `destination`. Higher bits of a
/// code are dropped; the codes must reach as far as the destination does.
pub(crate) fn pack(level: Level, codes: &[u64], bits: u32, destination: &mut [u8]) {
    match bits {
        2 => level.each(bytemuck::cast_slice(codes), destination, two),
        4 => level.each(bytemuck::cast_slice(codes), destination, four),
        6 => groups(level, codes, destination, six),
        _ => groups(level, bytemuck::cast_slice(codes), destination, twelve),
    }
}

/// Six-bit codes one a byte; bits that belong to no whole code are ignored.
pub(crate) fn unpack6(level: Level, source: &[u8], codes: &mut [u64]) {
    let whole = source.len() / 6;
    let (groups, rest) = source.split_at(whole * 6);
    level.each(bytemuck::cast_slice(groups), codes, spread);
    if !rest.is_empty() {
        let mut last = [0; 6];
        last[..rest.len()].copy_from_slice(rest);
        codes[whole] = spread(last);
    }
}

/// Eight six-bit codes, one a byte.
#[inline(always)]
fn spread([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    let w = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    let w = w & 0x0000_0000_00ff_ffff | (w & 0xffff_ff00_0000) << 8;
    let w = w & 0x0000_0fff_0000_0fff | (w & 0x00ff_f000_00ff_f000) << 4;
    let w = w & 0x003f_003f_003f_003f | (w & 0x0fc0_0fc0_0fc0_0fc0) << 2;
    w.to_le()
}

/// Eight six-bit codes in a byte each.
#[inline(always)]
fn six(codes: u64) -> [u8; 6] {
    // Pairs, fours, then both fours become 12, 24 and 48 bits without gaps.
    let w = u64::from_le(codes);
    let w = w & 0x003f_003f_003f_003f | w >> 2 & 0x0fc0_0fc0_0fc0_0fc0;
    let w = w & 0x0000_0fff_0000_0fff | w >> 4 & 0x00ff_f000_00ff_f000;
    let w = w & 0x0000_0000_00ff_ffff | w >> 8 & 0xffff_ff00_0000;
    let [a, b, c, d, e, f, ..] = w.to_le_bytes();
    [a, b, c, d, e, f]
}

/// Two 12-bit codes in a 16-bit word each.
#[inline(always)]
fn twelve(codes: u32) -> [u8; 3] {
    // Two words of the machine's, of which the first counts as the low one.
    let w = if cfg!(target_endian = "big") { codes.rotate_left(16) } else { codes };
    let [a, b, c, _] = (w & 0xfff | w >> 4 & 0x00ff_f000).to_le_bytes();
    [a, b, c]
}

/// Four two-bit codes in a byte each.
#[inline(always)]
fn two(codes: u32) -> u8 {
    let w = u32::from_le(codes);
    (w & 0x3 | w >> 6 & 0xc | w >> 12 & 0x30 | w >> 18 & 0xc0) as u8
}

/// Two four-bit codes in a byte each.
#[inline(always)]
fn four(codes: u16) -> u8 {
    let w = u16::from_le(codes);
    (w & 0xf | w >> 4 & 0xf0) as u8
}

/// Groups of codes to `N` bytes each; of the last group, as many bytes as there is room for.
fn groups<S: Pod, const N: usize>(level: Level, codes: &[S], destination: &mut [u8], f: impl Fn(S) -> [u8; N] + Copy)
where
    [u8; N]: Pod,
{
    let whole = destination.len() / N;
    let (bytes, rest) = destination.split_at_mut(whole * N);
    level.each(&codes[..whole], bytemuck::cast_slice_mut(bytes), f);
    if !rest.is_empty() {
        rest.copy_from_slice(&f(codes[whole])[..rest.len()]);
    }
}

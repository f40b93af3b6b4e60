//! Codes of less than a byte: one code a byte to packed ones.

use super::level::Level;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::x86;

/// Packs codes that lie one a byte, low bits first, into `destination`. Higher bits of a code are dropped; the codes must
/// reach as far as the destination does. `spare` is overwritten.
pub(crate) fn pack(level: Level, codes: &[u64], bits: u32, destination: &mut [u8], spare: &mut [u64]) {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if x86::pack(level, bytemuck::cast_slice(codes), 8, bits, destination) {
        return;
    }
    match bits {
        2 => level.each(bytemuck::cast_slice(codes), destination, two),
        4 => level.each(bytemuck::cast_slice(codes), destination, four),
        _ => {
            level.each(&codes[..destination.len().div_ceil(6)], spare, six);
            let (whole, rest) = destination.split_at_mut(destination.len() / 6 * 6);
            for (bytes, group) in whole.chunks_exact_mut(6).zip(&*spare) {
                bytes.copy_from_slice(&group.to_le_bytes()[..6]);
            }
            if !rest.is_empty() {
                rest.copy_from_slice(&spare[whole.len() / 6].to_le_bytes()[..rest.len()]);
            }
        }
    }
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

/// Eight six-bit codes in a byte each, to the low 48 bits.
#[inline(always)]
fn six(codes: u64) -> u64 {
    // Pairs, fours, then both fours become 12, 24 and 48 bits without gaps.
    let w = u64::from_le(codes);
    let w = w & 0x003f_003f_003f_003f | w >> 2 & 0x0fc0_0fc0_0fc0_0fc0;
    let w = w & 0x0000_0fff_0000_0fff | w >> 4 & 0x00ff_f000_00ff_f000;
    w & 0x0000_0000_00ff_ffff | w >> 8 & 0xffff_ff00_0000
}

//! Codes of any width at any bit of memory.

/// The code of `width` bits that starts at bit `start`.
pub fn get(memory: &[u8], start: u64, width: u32) -> u64 {
    (0..u64::from(width)).map(|i| bit(memory, start + i) << i).sum()
}

fn bit(memory: &[u8], at: u64) -> u64 {
    u64::from(memory[(at / 8) as usize] >> (at % 8) & 1)
}

/// Writes a code of `width` bits from bit `start` on.
pub fn set(memory: &mut [u8], start: u64, width: u32, code: u64) {
    for i in 0..u64::from(width) {
        let (byte, mask) = (((start + i) / 8) as usize, 1 << ((start + i) % 8));
        memory[byte] = if code >> i & 1 == 1 { memory[byte] | mask } else { memory[byte] & !mask };
    }
}

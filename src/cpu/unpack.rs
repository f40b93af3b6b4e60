//! Codes of 6 bits to the same codes, one in each byte, in vectors.

use super::cast_loop::Step;
use super::lanes::bytes::ByteLanes;
use super::pack::LANES;

/// The step of 128 codes.
#[derive(Clone, Copy)]
pub(crate) struct Unpack6;

impl<L: ByteLanes> Step<L> for Unpack6 {
    const READ: usize = 4 * LANES * 6 / 8;
    const WRITTEN: usize = 4 * LANES;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        l.unpack_6(source, destination);
    }
}

//! The cast of any number of codes by a loop of steps.

use super::cast_loop::{CastLoop, LoopInfo, STEP};
use super::code_cast::CodeBits;
use super::non_temporal::Fence;

/// A loop, and what is needed to cast numbers of codes that are no whole steps. This code is not generic: it is compiled
/// once for all loops.
pub(crate) struct AnyLength {
    steps: Box<dyn CastLoop>,
    info: LoopInfo,
    /// See [`CodeBits::unit`].
    unit: [usize; 2],
}

/// `zeros!(bytes)` is a slice of `bytes` zeros on the stack, at most [`STEP`]. It comes from the smallest of several
/// arrays, because clearing a longer one takes as long as converting a few elements.
macro_rules! zeros {
    ($bytes:expr) => {
        match $bytes {
            ..=64 => &mut [0; 64][..$bytes],
            ..=128 => &mut [0; 128][..$bytes],
            ..=256 => &mut [0; 256][..$bytes],
            ..=512 => &mut [0; 512][..$bytes],
            _ => &mut [0; STEP][..$bytes],
        }
    };
}

impl AnyLength {
    pub(crate) fn new(steps: Box<dyn CastLoop>, bits: CodeBits) -> Self {
        Self { info: steps.info(), steps, unit: bits.unit() }
    }

    /// See [`Step::READS_LINES`](super::cast_loop::Step::READS_LINES).
    pub(crate) fn reads_lines(&self) -> bool {
        self.info.reads_lines
    }

    /// See [`CastLoop::convert_past_caches`].
    pub(crate) fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        // The fence is dropped when this function returns or panics. Until then, nothing else sees the destination,
        // because it is borrowed.
        let _fence = Fence;
        self.steps.convert_past_caches(source, destination)
    }

    /// Converts codes until the destination is full. Packed codes start at a byte on both sides. Pad bits of the
    /// destination are undefined.
    #[inline]
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match self.info.step {
            None => self.steps.convert_steps(source, destination),
            Some(step) if destination.len() < step[1] => self.convert_part(step, source, destination),
            Some(step) => {
                self.steps.convert_steps(source, destination);
                if !self.are_units(source.len(), destination.len()) {
                    self.convert_after_steps(step, source, destination);
                } else if rest(destination.len(), step[1]) > 0 {
                    // The last step ends where the codes end, and converts some of them again.
                    let [from, to] = [source.len() - step[0], destination.len() - step[1]];
                    self.steps.convert_steps(&source[from..], &mut destination[to..]);
                }
            }
        }
    }

    /// Whether both sides have the bytes of the same number of units, so that a step can end where they end.
    fn are_units(&self, read: usize, written: usize) -> bool {
        // Between two types of 6 bits, whose units have three bytes, the number of units need not be whole.
        read * self.unit[1] == written * self.unit[0] && (self.unit[0] != 3 || read.is_multiple_of(3))
    }

    /// Converts the codes after the last whole step.
    // If this were inlined, casts of a few elements would take longer.
    #[inline(never)]
    fn convert_after_steps(&self, step: [usize; 2], source: &[u8], destination: &mut [u8]) {
        let steps = (source.len() / step[0]).min(destination.len() / step[1]);
        self.convert_part(step, &source[steps * step[0]..], &mut destination[steps * step[1]..]);
    }

    /// Converts at most a step.
    fn convert_part(&self, step: [usize; 2], source: &[u8], destination: &mut [u8]) {
        let (codes, made) = (zeros!(step[0]), zeros!(step[1]));
        let read = source.len().min(step[0]);
        codes[..read].copy_from_slice(&source[..read]);
        self.steps.convert_steps(codes, made);
        destination.copy_from_slice(&made[..destination.len()]);
    }

    /// Converts the codes of the first `read` source bytes, which are the first `written` destination bytes. It may convert
    /// some more, since whole steps take less time.
    pub(crate) fn convert_beginning(&self, [read, written]: [usize; 2], source: &[u8], destination: &mut [u8]) {
        if let Some(step) = self.info.step {
            let steps = read.div_ceil(step[0]);
            let (source, made) = (source.get(..steps * step[0]), destination.get_mut(..steps * step[1]));
            if let (Some(source), Some(made)) = (source, made) {
                return self.steps.convert_steps(source, made);
            }
        }
        self.convert(&source[..read], &mut destination[..written]);
    }
}

/// The remainder of a division, which takes as long as a cast of some elements unless `step` is a power of two.
fn rest(bytes: usize, step: usize) -> usize {
    if step.is_power_of_two() { bytes & (step - 1) } else { bytes % step }
}

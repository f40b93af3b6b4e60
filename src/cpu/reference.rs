//! The reference as a loop. It casts every pair; the other loops are faster.

use super::cast_loop::CastLoop;
use super::code_cast::CodeCast;

pub(crate) struct Reference(pub CodeCast);

impl CastLoop for Reference {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        self.0.conversion.convert_codes(self.0.bits(), source, destination);
    }
}

//! Casts pieces of a tensor of scaled elements.

use super::multiply::Factors;
use super::scales::{Rows, Scales};
use super::{Counted, ProductLoop};
use crate::cpu::any_length::AnyLength;
use crate::cpu::code_cast::CodeBits;
use crate::cpu::count::Losses;
use crate::cpu::isa::Isa;

/// The elements that are scaled at a time: few enough for the first-level cache, and a multiple of all groups.
pub(super) const PIECE: usize = 2048;

/// The elements that a loop in registers gets at a time.
pub(super) const REGISTER_PIECE: usize = 8192;

/// The smallest block of common formats. Blocks of a multiple of it begin at a granule.
pub(super) const GRANULE: usize = 16;

/// Memory for the scales and the zero points of the elements that a loop in registers gets at a time.
pub(super) type RegisterFactors = [[f32; REGISTER_PIECE / GRANULE]; 2];

/// FLOATs of a piece, in a whole number of cache lines.
#[repr(align(64))]
pub(super) struct Numbers(pub [u8; 4 * PIECE]);

/// What casts pieces of a tensor.
pub(super) struct Pieces<'a> {
    /// The elements of the tensor.
    pub elements: usize,
    pub scales: &'a Scales<'a>,
    pub rows: Rows,
    pub can_be_nan: bool,
    pub decode: &'a AnyLength,
    pub encode: &'a AnyLength,
    /// Whether the destination type is FLOAT.
    pub to_float: bool,
    /// The bits of codes of the source and of the destination.
    pub bits: CodeBits,
    pub isa: Isa,
    pub past_caches: bool,
    pub counted: Option<&'a Counted>,
}

impl Pieces<'_> {
    /// Casts the elements from `at` on, which begin a granule, in registers.
    pub(super) fn convert_in_registers(
        &self,
        products: &dyn ProductLoop,
        mut at: usize,
        source: &[u8],
        destination: &mut [u8],
    ) {
        let mut factors: RegisterFactors = [[0.0; _]; 2];
        let losses_of = |scales| self.counted.map_or(Losses::None, |counted| counted.losses_of(scales));
        let [read, written] = self.bits.bytes(REGISTER_PIECE);
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            match products.convert(self, &mut factors, &losses_of, at, source, destination) {
                Losses::None => {}
                Losses::InResults(magnitudes) => {
                    if let Some(counted) = self.counted {
                        // The last byte of the source may have bits after the last code.
                        let elements = destination.len() * 8 / self.bits.0[1] as usize;
                        counted.add_results(magnitudes, elements, source, destination);
                    }
                }
                Losses::Unknown => self.convert(at, source, destination),
            }
            at += REGISTER_PIECE;
        }
    }

    /// Casts the elements from `at` on.
    pub(super) fn convert(&self, mut at: usize, source: &[u8], destination: &mut [u8]) {
        let (mut numbers, mut factors) = (Numbers([0; 4 * PIECE]), Factors::new());
        let [read, written] = self.bits.bytes(PIECE);
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            // The last byte of the tensor may have bits after the last code.
            let elements = (source.len() * 8 / self.bits.0[0] as usize).min(self.elements - at);
            if self.to_float && !self.past_caches {
                self.products(&mut factors, at, source, destination);
            } else {
                let numbers = &mut numbers.0[..4 * elements];
                self.products(&mut factors, at, source, numbers);
                let [read, written] =
                    if self.past_caches { self.encode.convert_past_caches(numbers, destination) } else { [0, 0] };
                self.encode.convert(&numbers[read..], &mut destination[written..]);
                if let Some(counted) = self.counted {
                    counted.add_products(numbers, destination);
                }
            }
            at += elements;
        }
    }

    /// Makes the products of the elements from `at` on.
    fn products(&self, factors: &mut Factors, at: usize, source: &[u8], numbers: &mut [u8]) {
        self.decode.convert(source, numbers);
        factors.multiply(self.isa, self.scales, &self.rows, self.can_be_nan, at, numbers);
    }
}

//! Codes with scales: a second operand of a cast.

mod codes;
mod read;
mod segments;

use std::hash::{Hash, Hasher};

use wgpu_cast::cpu::Scales;
use wgpu_cast::{CastSpec, ElementType, Error, Kind, LossCounts, cpu};

use super::error::{FileError, PlanFault};
use super::plan::{CodeStorage, TensorCast};
use super::repack::code_bits;

pub(super) use codes::Transposed;
pub(super) use read::Operands;

/// A function that casts codes with scales. It has the arguments and the result of [`cpu::cast_scaled_counted`], which
/// casts on the CPU.
pub type CastScaledPiece<'a> =
    dyn Fn(&CastSpec, &Scales<'_>, &[u8], &mut [u8]) -> Result<LossCounts, Error> + Sync + 'a;

/// The cast of a matrix of codes that have scales: (code − zero point) · scale, rounded once to FLOAT, and then cast. It is
/// the cast of [`cpu::cast_scaled`]. A scale that is no finite number is an error while the output is made. A scale of 0
/// and a negative one are numbers like others.
///
/// It is also a matrix of weights that are divided by scales, rounded once to FLOAT, and then cast to codes, if the function
/// that casts is [`cpu::cast_divided_counted`]. [`block_scales`](super::block_scales) computes such scales.
///
/// ```
/// use wgpu_cast::{CastOptions, ElementType, cpu};
/// use wgpu_cast_files::{self as files, FilePlan, Part, ScaleTensor, ScaledCast, StreamSettings, TensorCast, TensorStorage};
///
/// // Two rows of two codes, and a scale for each row.
/// let (codes, scales) = (vec![0x38, 0x40, 0x38, 0x40], [0.5f32, -1.0].map(f32::to_le_bytes).concat());
/// let [from, to] = [ElementType::FLOAT8E4M3FN, ElementType::BFLOAT16].map(TensorStorage::packed);
/// let (name, options, column_major) = ("w".to_owned(), CastOptions::default(), Vec::new());
/// let cast = TensorCast { name, elements: 4, input: 0, offset: 0, from, to, options, column_major, clamp: false };
/// let scales_of_rows =
///     ScaleTensor { name: "w_scale".to_owned(), input: 1, offset: 0, element_type: ElementType::FLOAT };
/// let scaled = ScaledCast {
///     cast,
///     columns: 2,
///     block: [1, 2],
///     scales: scales_of_rows,
///     second: None,
///     zero_points: None,
///     transposed: false,
/// };
/// let plan = FilePlan { parts: vec![Part::Scaled(Box::new(scaled))] };
/// let (settings, mut output) = (StreamSettings::default(), Vec::new());
/// let casters = (&cpu::cast_counted, &cpu::cast_scaled_counted);
/// files::write_scaled(&plan, &[&codes, &scales], &settings, casters.0, casters.1, &mut |finished| {
///     output.extend_from_slice(finished.bytes);
///     Ok(())
/// })?;
/// // 0.5, 1, -1 and -2
/// assert_eq!(output, [0x00, 0x3f, 0x80, 0x3f, 0x80, 0xbf, 0x00, 0xc0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ScaledCast {
    /// The cast of the codes. They are a matrix in row-major order, packed in the input and in the output. Each row must
    /// start at a byte.
    pub cast: TensorCast,
    /// The length of a row of the output.
    pub columns: u64,
    /// How many rows and how many columns of the output share a scale. The last block of an axis may be short.
    pub block: [u64; 2],
    /// The scales, one for each block in row-major order: floats of 8, 16 or 32 bits.
    pub scales: ScaleTensor,
    /// A scale of the whole tensor. It is applied to each of `scales` first, and the result is rounded to FLOAT.
    pub second: Option<SecondScale>,
    /// What is subtracted from each code.
    pub zero_points: Option<ZeroPoints>,
    /// Whether the input has the transposed matrix, and the scales of the transposed blocks. This is for codes of 4 bits,
    /// scales of 8 bits, and no zero points.
    pub transposed: bool,
}

/// The place of scales or zero points in an input. They are little-endian.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScaleTensor {
    /// The name, for errors.
    pub name: String,
    /// The index of the input among those that [`write()`](super::write()) gets.
    pub input: usize,
    /// The first byte.
    pub offset: u64,
    /// The element type.
    pub element_type: ElementType,
}

/// A scale of a whole tensor, beside those of its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SecondScale {
    /// It multiplies the scales of the blocks.
    Multiply(f32),
    /// It divides the scales of the blocks.
    Divide(f32),
}

/// What is subtracted from the codes of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ZeroPoints {
    /// One number for all codes.
    One(i32),
    /// One for each scale, in the same order: integers of 8, 16 or 32 bits.
    EachScale(ScaleTensor),
    /// One for each scale. The codes of this many bits (4 or 8) are unsigned. Those of one column of the scales follow one
    /// another in words of 32 bits, low bits first; the words are a matrix in row-major order.
    PackedColumns(ScaleTensor, u32),
}

impl Hash for SecondScale {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Multiply(scale) => (false, scale.to_bits()).hash(state),
            Self::Divide(scale) => (true, scale.to_bits()).hash(state),
        }
    }
}

impl SecondScale {
    fn apply(self, scale: f32) -> f32 {
        match self {
            Self::Multiply(second) => scale * second,
            Self::Divide(second) => scale / second,
        }
    }
}

impl ScaleTensor {
    /// The size of an element in bytes; 0 if an element does not fill bytes.
    fn width(&self) -> u64 {
        let bits = code_bits(self.element_type);
        if bits.is_multiple_of(8) { u64::from(bits / 8) } else { 0 }
    }

    /// Checks that the plan reads `count` elements of one of `inputs` inputs.
    fn check(&self, count: u64, inputs: usize) -> Result<(), FileError> {
        if self.input >= inputs {
            return Err(PlanFault::NoInput { input: self.input, inputs }.into());
        }
        let bytes = count.checked_mul(self.width().max(1)).and_then(|bytes| bytes.checked_add(self.offset));
        bytes.map(drop).ok_or_else(|| PlanFault::Size.into())
    }
}

impl ScaledCast {
    /// The number of rows of the output.
    fn rows(&self) -> u64 {
        self.cast.elements.checked_div(self.columns).unwrap_or(0)
    }

    /// The number of scales of a row of blocks.
    pub(super) fn scales_of_row(&self) -> u64 {
        self.columns.div_ceil(self.block[1].max(1))
    }

    /// The number of blocks. [`check`](Self::check) finds one that overflows.
    pub(super) fn blocks(&self) -> u64 {
        self.rows().div_ceil(self.block[0].max(1)).saturating_mul(self.scales_of_row())
    }

    /// The memory in bytes for scales, zero points and what is read of transposed codes, for `elements` elements that
    /// follow one another.
    pub(super) fn bytes_of_scales(&self, elements: u64) -> u64 {
        let each = self.block[1].min(self.columns).max(1);
        let scale = 8 + if self.zero_points.is_some() { 8 } else { 0 };
        let transposed = if self.transposed { elements } else { 0 };
        elements.div_ceil(each).saturating_mul(scale).saturating_add(transposed)
    }

    /// Checks what the plan says of the scales. The codes were checked as those of any cast.
    pub(super) fn check(&self, inputs: usize) -> Result<(), FileError> {
        let TensorCast { elements, from, to, column_major, .. } = &self.cast;
        let [rows, columns] = self.block;
        let is_matrix = *elements == 0 || (self.columns > 0 && elements.is_multiple_of(self.columns));
        if rows == 0 || columns == 0 || !is_matrix {
            return Err(PlanFault::Blocks { elements: *elements, columns: self.columns, block: self.block }.into());
        }
        let is_whole = |storage: &super::plan::TensorStorage| {
            let bits = u64::from(code_bits(storage.element_type));
            let ends = |columns: u64| (columns % 8 * bits).is_multiple_of(8);
            let is_divided = columns > 1 && columns < self.columns;
            storage.codes == CodeStorage::Packed && ends(self.columns) && (!is_divided || ends(columns))
        };
        if !is_whole(from) || !is_whole(to) || !column_major.is_empty() {
            return Err(PlanFault::ScaledStorage.into());
        }
        let scales = &self.scales;
        if !matches!(scales.element_type.kind(), Kind::Float(_)) || !matches!(scales.width(), 1 | 2 | 4) {
            return Err(PlanFault::ScaleType { found: scales.element_type }.into());
        }
        let count = self.rows().div_ceil(rows).checked_mul(self.scales_of_row()).ok_or(PlanFault::Size)?;
        scales.check(count, inputs)?;
        match &self.zero_points {
            None | Some(ZeroPoints::One(_)) => {}
            Some(ZeroPoints::EachScale(tensor)) => {
                if !matches!(tensor.element_type.kind(), Kind::Int { .. }) || !matches!(tensor.width(), 1 | 2 | 4) {
                    return Err(PlanFault::ScaleType { found: tensor.element_type }.into());
                }
                tensor.check(count, inputs)?;
            }
            Some(ZeroPoints::PackedColumns(tensor, bits)) => {
                if tensor.element_type != ElementType::INT32 || !matches!(bits, 4 | 8) {
                    return Err(PlanFault::ScaleType { found: tensor.element_type }.into());
                }
                tensor.check(count, inputs)?;
            }
        }
        let is_pairs = code_bits(from.element_type) == 4 && scales.width() == 1 && self.zero_points.is_none();
        // Two rows of the output lie in each byte of the input.
        if self.transposed && !(is_pairs && self.rows().is_multiple_of(2) && self.rows().is_multiple_of(rows)) {
            return Err(PlanFault::ScaledStorage.into());
        }
        Ok(())
    }

    /// The products of a range of elements, as FLOAT.
    fn products(
        &self,
        operands: &Operands,
        source: &[u8],
        range: &std::ops::Range<u64>,
        caster: &CastScaledPiece<'_>,
    ) -> Result<Vec<u8>, FileError> {
        let bytes = (range.end - range.start).saturating_mul(4);
        let mut products = super::memory::zeros(bytes)?;
        let spec = CastSpec::new(self.cast.from.element_type, ElementType::FLOAT);
        self.run(&spec, operands, source, range, &mut products, caster)?;
        Ok(products)
    }

    /// Casts a range of elements. `operands` are the scales of the range, and the slices have its codes.
    pub(super) fn cast(
        &self,
        operands: &Operands,
        source: &[u8],
        range: &std::ops::Range<u64>,
        destination: &mut [u8],
        caster: &CastScaledPiece<'_>,
        relative_errors: bool,
    ) -> Result<super::stream::CastLoss, FileError> {
        let TensorCast { from, to, options, clamp, .. } = &self.cast;
        let spec = CastSpec::new(from.element_type, to.element_type).with_options(*options);
        let mut lost = super::stream::CastLoss {
            counts: self.run(&spec, operands, source, range, destination, caster)?,
            relative_error: 0.0,
        };
        let clamps = *clamp && lost.counts.infinite > 0;
        if clamps || relative_errors {
            let products = self.products(operands, source, range, caster)?;
            if relative_errors {
                let spec = CastSpec::new(ElementType::FLOAT, to.element_type).with_options(*options);
                let len = (range.end - range.start) as usize;
                lost.relative_error = cpu::largest_relative_error(&spec, &products, len, destination)?;
            }
            if clamps {
                super::clamp::clamp(ElementType::FLOAT, &products, to.element_type, destination);
                lost.counts.saturated += std::mem::take(&mut lost.counts.infinite);
            }
        }
        Ok(lost)
    }

    fn run(
        &self,
        spec: &CastSpec,
        operands: &Operands,
        source: &[u8],
        range: &std::ops::Range<u64>,
        destination: &mut [u8],
        caster: &CastScaledPiece<'_>,
    ) -> Result<LossCounts, FileError> {
        let mut counts = LossCounts::default();
        let (mut scales, mut zero_points) = (&operands.scales[..], &operands.zero_points[..]);
        for segment in self.segments(range.clone()) {
            let count = (segment.scales.end - segment.scales.start) as usize;
            let (own, others) = scales.split_at(count);
            scales = others;
            let mut operand = Scales::new(&segment.shape, &segment.block, own)?;
            if self.zero_points.is_some() {
                let (own, others) = zero_points.split_at(count);
                zero_points = others;
                operand = operand.with_zero_points(own)?;
            }
            let place = |element_type: ElementType| {
                let byte = |element: u64| ((element - range.start) * u64::from(code_bits(element_type)) / 8) as usize;
                byte(segment.elements.start)..byte(segment.elements.end)
            };
            let destination = &mut destination[place(spec.to)];
            counts += caster(spec, &operand, &source[place(spec.from)], destination)?;
        }
        Ok(counts)
    }
}

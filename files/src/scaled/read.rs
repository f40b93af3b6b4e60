//! The scales and zero points of a piece, read and decoded.

use wgpu_cast::{CastSpec, ElementType, Kind, cpu};

use super::codes::Transposed;
use super::{ScaleTensor, ScaledCast, ZeroPoints};
use crate::error::{FileError, ScaleFault};
use crate::input::{ReadAt, read_at};
use crate::memory::resize;

/// The operands of the codes of a fragment, one for each scale of its segments in their order.
#[derive(Default)]
pub(crate) struct Operands {
    pub scales: Vec<f32>,
    pub zero_points: Vec<i32>,
    /// What was read last.
    bytes: Vec<u8>,
    floats: Vec<u8>,
}

impl Operands {
    /// Reads the operands of the elements of a range, in place of those that are here. `transposed` reads the scales of a
    /// transposed matrix.
    ///
    /// # Errors
    /// They cannot be read, or a scale is no finite number.
    pub fn read(
        &mut self,
        cast: &ScaledCast,
        range: std::ops::Range<u64>,
        inputs: &[&dyn ReadAt],
        mut transposed: Option<&mut Transposed<'_>>,
    ) -> Result<(), FileError> {
        self.scales.clear();
        self.zero_points.clear();
        for segment in cast.segments(range) {
            let scales = segment.scales;
            match &mut transposed {
                Some(reader) => {
                    resize(&mut self.bytes, scales.end - scales.start)?;
                    reader.scales(scales.start, &mut self.bytes)?;
                }
                None => self.fill(&cast.scales, scales.clone(), inputs)?,
            }
            self.decode(cast, scales.start)?;
            self.read_zero_points(cast, scales, inputs)?;
        }
        Ok(())
    }

    /// Reads the bytes of some elements of a tensor.
    fn fill(
        &mut self,
        tensor: &ScaleTensor,
        elements: std::ops::Range<u64>,
        inputs: &[&dyn ReadAt],
    ) -> Result<(), FileError> {
        let width = tensor.width();
        resize(&mut self.bytes, (elements.end - elements.start).saturating_mul(width))?;
        let read = read_at(inputs[tensor.input], tensor.offset + elements.start * width, &mut self.bytes);
        read.map_err(|error| error.of_input(tensor.input).of_tensor(&tensor.name))
    }

    /// Decodes the scales that were read; `first` is the index of the first one. FLOAT holds each of them.
    fn decode(&mut self, cast: &ScaledCast, first: u64) -> Result<(), FileError> {
        let tensor = &cast.scales;
        let len = self.bytes.len() / tensor.width().max(1) as usize;
        resize(&mut self.floats, len as u64 * 4)?;
        cpu::cast_bytes(&CastSpec::new(tensor.element_type, ElementType::FLOAT), &self.bytes, len, &mut self.floats)?;
        for (index, float) in self.floats.as_chunks::<4>().0.iter().enumerate() {
            let stored = f32::from_le_bytes(*float);
            let scale = cast.second.map_or(stored, |second| second.apply(stored));
            let wrong = [stored, scale].into_iter().find(|scale| !scale.is_finite());
            if let Some(value) = wrong {
                let value = match value.is_nan() {
                    true => "NaN",
                    false if value > 0.0 => "inf",
                    false => "-inf",
                };
                let fault = ScaleFault { name: tensor.name.clone(), index: first + index as u64, value };
                return Err(FileError::from(fault).of_input(tensor.input).of_tensor(&cast.cast.name));
            }
            self.scales.push(scale);
        }
        Ok(())
    }

    fn read_zero_points(
        &mut self,
        cast: &ScaledCast,
        scales: std::ops::Range<u64>,
        inputs: &[&dyn ReadAt],
    ) -> Result<(), FileError> {
        match &cast.zero_points {
            None => {}
            Some(ZeroPoints::One(zero)) => {
                self.zero_points.extend(std::iter::repeat_n(*zero, (scales.end - scales.start) as usize));
            }
            Some(ZeroPoints::EachScale(tensor)) => {
                self.fill(tensor, scales, inputs)?;
                let is_signed = matches!(tensor.element_type.kind(), Kind::Int { signed: true });
                self.zero_points.extend(self.bytes.chunks(tensor.width().max(1) as usize).map(|code| {
                    let sign = if is_signed && code.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
                    let mut number = [sign; 4];
                    number[..code.len()].copy_from_slice(code);
                    i32::from_le_bytes(number)
                }));
            }
            Some(ZeroPoints::PackedColumns(tensor, bits)) => {
                // Rows of scales in a word, and scales in a row.
                let (in_word, of_row) = (u64::from(32 / bits), cast.scales_of_row());
                let word = |scale: u64| scale / of_row / in_word * of_row + scale % of_row;
                let first = word(scales.start);
                // In whole rows, the last scale of a row of words has the highest place.
                let last = scales.end - 1;
                self.fill(tensor, first..word(last) + 1, inputs)?;
                for scale in scales {
                    let place = (word(scale) - first) as usize * 4;
                    let code = self.bytes[place..].first_chunk().map_or(0, |code| u32::from_le_bytes(*code));
                    let shifted = code >> (scale / of_row % in_word * u64::from(*bits));
                    self.zero_points.push((shifted & ((1 << bits) - 1)) as i32);
                }
            }
        }
        Ok(())
    }
}

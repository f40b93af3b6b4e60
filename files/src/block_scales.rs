//! The scales of weights that are quantized, by the largest magnitudes of their blocks.

use std::io;

use wgpu_cast::cpu::Scales;
use wgpu_cast::{CastSpec, ElementType, Kind, cpu};

use super::error::{BlockFault, FileCause, FileError, PlanFault};
use super::input::{ReadAt, read_at};
use super::memory::zeros;
use super::plan::{FilePlan, Part, TensorCast};
use super::scaled::ScaledCast;
use super::stream::check;
use crate::repack::code_bits;

/// The most bytes of a weight that are in memory at once.
const BUFFER: u64 = 1 << 20;

/// The scales for a plan that quantizes weights of FLOAT, FLOAT16 or BFLOAT16 to FLOAT8 types (not FLOAT8E8M0), FLOAT6 types or
/// FLOAT4E2M1: those of each [`Part::Scaled`] whose scales are FLOATs of the input that follows the given ones. The result is
/// that input. [`write_scaled`](super::write_scaled) then
/// makes the output, with [`cpu::cast_divided_counted`] in place of the function that multiplies.
///
/// A scale is the largest magnitude of its block divided by the largest number of the destination type, in FLOAT. It is at
/// least 2⁻¹²⁶, the smallest normal number, and 1 if all elements of its block are 0.
///
/// The weights are read once, in pieces of at most 1 MiB. `on_read` gets the bytes of each piece that was read. Its error ends
/// the work, so `on_read` can cancel it. All work is done on the calling thread. The scales take 4 bytes each, and up to
/// 12 bytes while those of one weight are computed.
///
/// ```
/// use wgpu_cast::{CastOptions, ElementType, cpu};
/// use wgpu_cast_files::{self as files, FilePlan, Part, ScaleTensor, ScaledCast, StreamSettings, TensorCast, TensorStorage};
///
/// let weight = [1.75f32, -0.5, 896.0, 64.0].map(f32::to_le_bytes).concat();
/// let [from, to] = [ElementType::FLOAT, ElementType::FLOAT8E4M3FN].map(TensorStorage::packed);
/// let (name, options, column_major) = ("w".to_owned(), CastOptions::default(), Vec::new());
/// let cast = TensorCast { name, elements: 4, input: 0, offset: 0, from, to, options, column_major, clamp: false };
/// // A scale for each row, in input 1.
/// let scales = ScaleTensor { name: "w_scale".to_owned(), input: 1, offset: 0, element_type: ElementType::FLOAT };
/// let quantized =
///     ScaledCast { cast, columns: 2, block: [1, 2], scales, second: None, zero_points: None, transposed: false };
/// let plan = FilePlan { parts: vec![Part::Scaled(Box::new(quantized))] };
///
/// let scales = files::block_scales(&plan, &[&weight], &mut |_| Ok(()))?;
/// assert_eq!(scales, [1.75f32 / 448.0, 2.0].map(f32::to_le_bytes).concat());
/// let (settings, mut codes) = (StreamSettings::default(), Vec::new());
/// let casters = (&cpu::cast_counted, &cpu::cast_divided_counted);
/// files::write_scaled(&plan, &[&weight, &scales], &settings, casters.0, casters.1, &mut |finished| {
///     codes.extend_from_slice(finished.bytes);
///     Ok(())
/// })?;
/// // 448, -128, 448 and 32
/// assert_eq!(codes, [0x7e, 0xf0, 0x7e, 0x60]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FileCause::Read`] and [`FileCause::OutOfMemory`]; [`FileCause::Write`] with the error of `on_read`;
/// [`FileCause::Malformed`] for the first block with an element that is infinite or NaN. Before any work, those of
/// [`write_scaled`](super::write_scaled), and [`FileCause::Request`] for other types, a second scale and zero points.
pub fn block_scales(
    plan: &FilePlan,
    inputs: &[&dyn ReadAt],
    on_read: &mut dyn FnMut(u64) -> io::Result<()>,
) -> Result<Vec<u8>, FileError> {
    plan.parts.iter().try_for_each(|part| check(part, inputs.len() + 1))?;
    let computed = plan.parts.iter().filter_map(|part| match part {
        Part::Scaled(cast) if cast.scales.input == inputs.len() => Some(&**cast),
        _ => None,
    });
    let casts: Vec<&ScaledCast> = computed.collect();
    let bytes = casts.iter().fold(0u64, |bytes, cast| bytes.saturating_add(cast.blocks().saturating_mul(4)));
    for cast in &casts {
        check_cast(cast, inputs, bytes).map_err(|error| error.of_tensor(&cast.cast.name))?;
    }
    let mut made = zeros(bytes)?;
    // Several casts may be parts of one weight. Its blocks are counted from the first one on.
    let (mut weight, mut first) = ("", 0);
    for cast in casts {
        if weight != cast.cast.name {
            (weight, first) = (cast.cast.name.as_str(), 0);
        }
        let scales = scales_of(cast, first, inputs[cast.cast.input], on_read);
        let scales = scales.map_err(|error| error.of_tensor(weight))?;
        made[cast.scales.offset as usize..][..scales.len()].copy_from_slice(&scales);
        first += cast.blocks();
    }
    Ok(made)
}

/// Refuses a cast that does not quantize, whose quotients need more than its scales, or whose weight or scales lie outside
/// their inputs. That of the scales has `bytes` bytes.
fn check_cast(cast: &ScaledCast, inputs: &[&dyn ReadAt], bytes: u64) -> Result<(), FileError> {
    let [from, to] = [cast.cast.from, cast.cast.to].map(|storage| storage.element_type);
    if ![ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16].contains(&from) {
        return Err(PlanFault::Kind { wanted: "float, float16 or bfloat16", found: from }.into());
    }
    let is_float = matches!(to.kind(), Kind::Float(_)) && to != ElementType::FLOAT8E8M0;
    if !is_float || code_bits(to) > 8 {
        return Err(PlanFault::Kind { wanted: "codes of float8, float6 or float4", found: to }.into());
    }
    if cast.scales.element_type != ElementType::FLOAT {
        return Err(PlanFault::Kind { wanted: "scales of float", found: cast.scales.element_type }.into());
    }
    if cast.second.is_some() || cast.zero_points.is_some() {
        return Err(PlanFault::DividedBy.into());
    }
    // The plan was checked: these sums are numbers of bytes.
    let end = cast.scales.offset + cast.blocks() * 4;
    if end > bytes {
        return Err(PlanFault::ScaleGap { end, bytes }.into());
    }
    let TensorCast { elements, input, offset, .. } = cast.cast;
    let weight = *inputs.get(input).ok_or(PlanFault::NoInput { input, inputs: inputs.len() })?;
    // An input with the last element has all, so that the scales need no memory for what a plan only claims.
    let width = width(from);
    let last = elements.checked_sub(1).map(|last| offset + last * width);
    last.map_or(Ok(()), |last| read_at(weight, last, &mut [0; 4][..width as usize]))
        .map_err(|error| error.of_input(input))
}

/// The scales of a cast, as bytes. `first` is the index of the first block in its weight.
fn scales_of(
    cast: &ScaledCast,
    first: u64,
    input: &dyn ReadAt,
    on_read: &mut dyn FnMut(u64) -> io::Result<()>,
) -> Result<Vec<u8>, FileError> {
    let [from, to] = [cast.cast.from, cast.cast.to].map(|storage| storage.element_type);
    let largest = largest_codes(cast, input, on_read)?;
    let count = largest.len() / width(from) as usize;
    let (mut floats, mut scales) = (zeros(count as u64 * 4)?, zeros(count as u64 * 4)?);
    // Threads would be those of the global pool, which may not be the caller's.
    cpu::on_this_thread(|| {
        cpu::cast_bytes(&CastSpec::new(from, ElementType::FLOAT), &largest, count, &mut floats)?;
        if count > 0 {
            let (spec, limit) = (CastSpec::new(ElementType::FLOAT, ElementType::FLOAT), [largest_number(to)?]);
            cpu::cast_divided_counted(&spec, &Scales::new(&[count], &[count], &limit)?, &floats, &mut scales)?;
        }
        Ok::<_, FileError>(())
    })?;
    let scales_and_largest = scales.as_chunks_mut::<4>().0.iter_mut().zip(floats.as_chunks::<4>().0);
    for (index, (scale, largest)) in scales_and_largest.enumerate() {
        let largest = f32::from_le_bytes(*largest);
        if !largest.is_finite() {
            let value = if largest.is_nan() { "a NaN" } else { "an infinity" };
            return Err(BlockFault { index: first + index as u64, value }.into());
        }
        // The bits of magnitudes have their order.
        let bits = u32::from_le_bytes(*scale).max(f32::MIN_POSITIVE.to_bits());
        *scale = if largest.to_bits() == 0 { 1f32.to_le_bytes() } else { bits.to_le_bytes() };
    }
    Ok(scales)
}

/// The largest number of a type that saturates.
fn largest_number(to: ElementType) -> Result<f32, FileError> {
    let (mut code, mut float) = (zeros(to.packed_bytes(1).unwrap_or(0))?, [0; 4]);
    cpu::cast_bytes(&CastSpec::new(ElementType::FLOAT, to), &f32::MAX.to_le_bytes(), 1, &mut code)?;
    cpu::cast_bytes(&CastSpec::new(to, ElementType::FLOAT), &code, 1, &mut float)?;
    Ok(f32::from_le_bytes(float))
}

fn width(element_type: ElementType) -> u64 {
    u64::from(code_bits(element_type) / 8)
}

/// The largest code of each block without its sign: codes of floats are in the order of their magnitudes.
fn largest_codes(
    cast: &ScaledCast,
    input: &dyn ReadAt,
    on_read: &mut dyn FnMut(u64) -> io::Result<()>,
) -> Result<Vec<u8>, FileError> {
    let (elements, columns, width) = (cast.cast.elements, cast.columns, width(cast.cast.from.element_type));
    let mut largest = zeros(cast.blocks() * width)?;
    let mut buffer = zeros(BUFFER.min(elements * width))?;
    let mut start = 0;
    while start < elements {
        let end = elements.min(start + BUFFER / width);
        let bytes = &mut buffer[..((end - start) * width) as usize];
        let read = read_at(input, cast.cast.offset + start * width, bytes);
        read.map_err(|error| error.of_input(cast.cast.input))?;
        on_read(bytes.len() as u64).map_err(FileCause::Write)?;
        let (mut at, mut rest) = (start, &*bytes);
        while at < end {
            let (row, column) = (at / columns, at % columns);
            let in_block = (cast.block[1] - column % cast.block[1]).min(columns - column).min(end - at);
            let (codes, others) = rest.split_at((in_block * width) as usize);
            let block = row / cast.block[0] * cast.scales_of_row() + column / cast.block[1];
            let found = largest_code(codes, width);
            let kept = &mut largest[(block * width) as usize..][..width as usize];
            if found > magnitude(kept) {
                kept.copy_from_slice(&found.to_le_bytes()[..width as usize]);
            }
            (at, rest) = (at + in_block, others);
        }
        start = end;
    }
    Ok(largest)
}

/// A code of 16 or 32 bits without its sign.
fn magnitude(code: &[u8]) -> u32 {
    match *code {
        [low, high] => u32::from(u16::from_le_bytes([low, high]) & 0x7fff),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) & 0x7fff_ffff,
        _ => 0,
    }
}

/// The largest of codes without their signs. Signed integers have an instruction for that on all processors.
fn largest_code(codes: &[u8], width: u64) -> u32 {
    match width {
        2 => {
            let magnitudes = codes.as_chunks().0.iter().map(|code| i16::from_le_bytes(*code) & i16::MAX);
            magnitudes.fold(0, i16::max) as u32
        }
        _ => {
            let magnitudes = codes.as_chunks().0.iter().map(|code| i32::from_le_bytes(*code) & i32::MAX);
            magnitudes.fold(0, i32::max) as u32
        }
    }
}

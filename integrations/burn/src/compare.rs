//! Casts between burn's allocations, beside what the CPU path gives, bit for bit.

use burn_tensor::{DType, Tensor, TensorData};
use burn_wgpu::{CubeTensor, Wgpu};
use wgpu_cast::{CastOptions, CastSpec, Destination, ElementType, Source, Tensor as HostTensor, cpu};

use crate::device::{Burn, Place, Result, primitive};
use crate::extension::OnnxTensor;

const FLOAT: ElementType = ElementType::FLOAT;
const TYPES: [ElementType; 3] = [ElementType::FLOAT8E4M3FN, ElementType::INT4, ElementType::BFLOAT16];

/// Prints a line for each comparison; whether all were equal.
pub fn run(burn: &Burn) -> Result<bool> {
    println!("float -> type -> float, compared with wgpu_cast::cpu::cast bit for bit");
    println!("{:14} {:>9}  {:24}  {:>7} {:>9} {:>9}  result", "type", "elements", "memory", "float", "cast", "back");
    let mut equal = true;
    for to in TYPES {
        for len in [1, 1000, 1_000_003] {
            equal &= allocations(burn, to, len)?;
            equal &= one_allocation(burn, to, len)?;
            equal &= by_extension(burn, to, len)?;
        }
    }
    Ok(equal)
}

/// A float tensor that burn has yet to compute, cast to an allocation of burn's and back to another, which burn then
/// takes as a tensor.
fn allocations(burn: &Burn, to: ElementType, len: usize) -> Result<bool> {
    let tensor = Tensor::<1>::from_data(TensorData::new(values(len), [len]), &burn.device).neg();
    let CubeTensor { client, handle, device, meta, .. } = primitive(tensor)?;
    let (cast, back) = (client.empty(packed(to, len) as usize), client.empty(packed(FLOAT, len) as usize));
    let places = [burn.place(&handle)?, burn.place(&cast)?, burn.place(&back)?];
    let sources = [&places[0], &places[1], &places[2]].map(|place| (place, place.offset));
    there_and_back(burn, to, len, sources)?;

    let back = CubeTensor::new_contiguous(client, device, meta.shape().clone(), back, DType::F32);
    let back = Tensor::<1>::from_primitive::<Wgpu>(back).into_data();
    let expected = expected(to, &burn.read(&handle)?)?;
    let equal = [burn.read(&cast)? == expected[0], back.bytes()[..] == expected[1]];
    let [one, other, another] = places.each_ref().map(|place| &place.buffer);
    let one_buffer = one == other && one == another;
    report(
        to,
        len,
        if one_buffer { "burn's, one buffer" } else { "burn's, more buffers" },
        Some(places.each_ref().map(|place| place.offset)),
        equal,
    );
    Ok(equal == [true, true])
}

/// As tasks of burn's stream, without a look at where the tensors lie.
fn by_extension(burn: &Burn, to: ElementType, len: usize) -> Result<bool> {
    let tensor = Tensor::<1>::from_data(TensorData::new(values(len), [len]), &burn.device).neg();
    let floats = OnnxTensor::new(primitive(tensor)?)?;
    let cast = burn.casts.cast(&floats, to)?;
    let back = burn.casts.cast(&cast, FLOAT)?;
    let back_bytes = Tensor::<1>::from_primitive::<Wgpu>(back.tensor).into_data();
    let expected = expected(to, &burn.read(&floats.tensor.handle)?)?;
    let equal = [burn.read(&cast.tensor.handle)? == expected[0], back_bytes.bytes()[..] == expected[1]];
    report(to, len, "the extension", None, equal);
    Ok(equal == [true, true])
}

/// All three in one allocation, where no binding of burn's own could start, with guard bytes between.
fn one_allocation(burn: &Burn, to: ElementType, len: usize) -> Result<bool> {
    const GUARD: u64 = 12;
    let (floats, casts) = (packed(FLOAT, len), packed(to, len));
    let float_at = GUARD;
    // Past the guard at an odd byte, where a type of a byte or less may start.
    let cast_at = float_at + floats + GUARD + if to.bits() > Some(8) { 2 } else { 1 };
    let back_at = (cast_at + casts + GUARD).next_multiple_of(4);
    let mut memory = vec![0xa5; (back_at + floats + GUARD) as usize];
    for (bytes, value) in memory[float_at as usize..].chunks_exact_mut(4).zip(values(len)) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    let handle = burn.client.create_from_slice(&memory);
    let place = burn.place(&handle)?;
    let offsets = [float_at, cast_at, back_at].map(|at| place.offset + at);
    there_and_back(burn, to, len, offsets.map(|offset| (&place, offset)))?;

    let got = burn.read(&handle)?;
    let expected = expected(to, &memory[float_at as usize..][..floats as usize])?;
    let starts = [cast_at, back_at].map(|at| at as usize);
    let results = [0, 1].map(|i| starts[i]..starts[i] + expected[i].len());
    let equal = [0, 1].map(|i| got[results[i].clone()] == expected[i]);
    // Nothing around the results may change, the source included.
    for result in results {
        memory[result.clone()].copy_from_slice(&got[result]);
    }
    let guarded = got == memory;
    report(to, len, if guarded { "one allocation, guarded" } else { "GUARD BYTES CHANGED" }, Some(offsets), equal);
    Ok(guarded && equal == [true, true])
}

/// Float to the type to float, without a look at either.
fn there_and_back(burn: &Burn, to: ElementType, len: usize, places: [(&Place, u64); 3]) -> Result<()> {
    let types = [FLOAT, to, FLOAT];
    let slice = |i: usize| {
        let (place, offset) = places[i];
        place.buffer.slice(offset..offset + packed(types[i], len))
    };
    let mut encoder = burn.encoder();
    for i in [0, 1] {
        let prepared = burn.caster.prepare(&CastSpec::new(types[i], types[i + 1]), len as u64)?;
        prepared.record(&mut encoder, Source::whole(slice(i)), Destination::whole(slice(i + 1)))?;
    }
    burn.submit(encoder)
}

/// What the CPU path makes of floats, and of that.
fn expected(to: ElementType, floats: &[u8]) -> Result<[Vec<u8>; 2]> {
    let options = CastOptions::default();
    let floats = HostTensor::from_bytes(FLOAT, [floats.len() / 4], floats.to_vec())?;
    let cast = cpu::cast(&floats, to, &options)?;
    let back = cpu::cast(&cast, FLOAT, &options)?;
    Ok([cast, back].map(|tensor| tensor.into_bytes().unwrap_or_default()))
}

fn report(to: ElementType, len: usize, memory: &str, offsets: Option<[u64; 3]>, equal: [bool; 2]) {
    let result = match equal {
        [true, true] => "equal",
        [false, _] => "THE CAST DIFFERS",
        [true, false] => "THE WAY BACK DIFFERS",
    };
    // The extension does not ask.
    let [float, cast, back] = [0, 1, 2].map(|i| offsets.map_or(String::new(), |offsets| offsets[i].to_string()));
    println!("{:14} {len:9}  {memory:24}  {float:>7} {cast:>9} {back:>9}  {result}", to.to_string());
}

fn packed(element_type: ElementType, len: usize) -> u64 {
    element_type.packed_bytes(len as u64).expect("counted in 64 bits")
}

/// Any bits (subnormals, infinities and NaN among them), by turns with small numbers and halves.
pub fn values(len: usize) -> Vec<f32> {
    let value = |i: u32| match i % 2 {
        0 => f32::from_bits(i.wrapping_mul(0x9e37_79b9)),
        _ => (i % 1021) as f32 / 32.0 - 16.0,
    };
    (0..len as u32).map(value).collect()
}

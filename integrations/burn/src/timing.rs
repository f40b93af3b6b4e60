//! What casts cost beside burn's own, by turns in one run.

use std::time::{Duration, Instant};

use burn_tensor::kind::Basic;
use burn_tensor::{BackendPrimitive, Cast, DType, Float, FloatDType, Int, IntDType, Tensor, TensorData};
use burn_wgpu::{CubeTensor, Wgpu};
use wgpu_cast::{Bound, CastOptions, CastSpec, Destination, ElementType, Source, Tensor as HostTensor, cpu};

use crate::compare::values;
use crate::device::{Burn, Result, debug, primitive};
use crate::extension::OnnxTensor;

const RUNS: usize = 7;
/// Elements of a cast that is timed, and casts of a run.
const ELEMENTS: usize = 4 << 20;
const CASTS: usize = 8;
/// Casts of 1 KiB of floats.
const SMALL_CASTS: usize = 10_000;
const SMALL: usize = 256;
/// What burn submits at once, unless told otherwise.
const BURNS_BATCH: usize = 32;

/// The pairs that burn has, by both.
pub fn casts(burn: &Burn) -> Result<()> {
    use ElementType as E;
    println!("{CASTS} casts of {ELEMENTS} elements, ms a cast, median of {RUNS} (fastest to slowest)");
    println!("ratio: burn's time by the extension's; burn's bits: whether burn's own cast gives ONNX's");
    println!("{:17} {:>24} {:>24} {:>24}  {:>5}  burn's bits", "", "burn", "extension", "resident", "ratio");
    let floats = Tensor::<1>::from_data(TensorData::new(values(ELEMENTS), [ELEMENTS]), &burn.device);
    let integers: Vec<i32> = (0..ELEMENTS as u32).map(|i| i.wrapping_mul(0x9e37_79b9) as i32 >> (i % 32)).collect();
    let integers = Tensor::<1, Int>::from_data(TensorData::new(integers, [ELEMENTS]), &burn.device);
    pair(burn, (E::FLOAT, &floats), (E::FLOAT16, FloatDType::F16))?;
    pair(burn, (E::FLOAT, &floats), (E::BFLOAT16, FloatDType::BF16))?;
    pair(burn, (E::FLOAT, &floats), (E::DOUBLE, FloatDType::F64))?;
    pair(burn, (E::FLOAT, &floats), (E::INT32, IntDType::I32))?;
    pair(burn, (E::FLOAT, &floats), (E::INT64, IntDType::I64))?;
    pair(burn, (E::FLOAT, &floats), (E::INT8, IntDType::I8))?;
    pair(burn, (E::INT32, &integers), (E::FLOAT, FloatDType::F32))?;
    pair(burn, (E::INT32, &integers), (E::INT64, IntDType::I64))?;
    if burn.device.supports_dtype(DType::F16) {
        pair(burn, (E::FLOAT16, &floats.cast(FloatDType::F16)), (E::FLOAT, FloatDType::F32))?;
    }
    Ok(())
}

fn pair<K, T>(burn: &Burn, (from, source): (ElementType, &Tensor<1, K>), (to, dtype): (ElementType, T)) -> Result<()>
where
    K: Basic + BackendPrimitive<Wgpu, Primitive = CubeTensor>,
    T: Cast<1, K, OutputKind: BackendPrimitive<Wgpu, Primitive = CubeTensor>> + Copy + Into<DType>,
{
    let name = format!("{from} -> {to}");
    if !burn.device.supports_dtype(dtype.into()) {
        println!("{name:17} burn does not have it on this device");
        return Ok(());
    }
    let burns = || T::cast(source.clone(), dtype);
    let handle = primitive(source.clone())?.handle;
    let theirs = burn.read(&primitive(burns())?.handle)?;

    let prepared = burn.caster.prepare(&CastSpec::new(from, to), ELEMENTS as u64)?;
    let (input, output) = (prepared.source_bytes(), prepared.destination_bytes());
    let destination = burn.client.empty(output as usize);
    let (place, destination) = (burn.place(&handle)?, burn.place(&destination)?);
    let bound = prepared.bind(Source::whole(place.slice(input)), Destination::whole(destination.slice(output)))?;

    let tensor = OnnxTensor::new(primitive(source.clone())?)?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    // The first of each warms up.
    for _ in 0..=RUNS {
        times[0].push(timed(burn, || {
            (0..CASTS).for_each(|_| drop(burns()));
            Ok(())
        })?);
        times[1].push(timed(burn, || (0..CASTS).try_for_each(|_| burn.casts.cast(&tensor, to).map(drop)))?);
        times[2].push(timed(burn, || {
            let mut encoder = burn.encoder();
            (0..CASTS).for_each(|_| bound.record(&mut encoder));
            burn.submit(encoder)
        })?);
    }
    let [theirs_took, ours_took, resident_took] = times.map(|times| Spread::of(&times[1..], CASTS));
    let expected = HostTensor::from_bytes(from, [ELEMENTS], burn.read(&handle)?)?;
    let expected = cpu::cast(&expected, to, &CastOptions::default())?;
    let ratio = theirs_took.median / ours_took.median;
    println!(
        "{name:17} {:>24} {:>24} {:>24}  {ratio:4.2}x  {}",
        theirs_took.ms(),
        ours_took.ms(),
        resident_took.ms(),
        differing(&expected, theirs)?
    );
    Ok(())
}

/// How many of burn's elements are other bits than ONNX has, which is no fault: burn promises none.
fn differing(expected: &HostTensor, theirs: Vec<u8>) -> Result<String> {
    let theirs = HostTensor::from_bytes(expected.element_type(), [expected.len()], theirs)?;
    let differing = theirs.codes().zip(expected.codes()).filter(|(theirs, expected)| theirs != expected).count();
    Ok(if differing == 0 {
        "ONNX's".into()
    } else {
        format!("{:.1} % not ONNX's", differing as f64 / expected.len() as f64 * 100.0)
    })
}

/// What the host spends on a small cast.
pub fn host(burn: &Burn) -> Result<()> {
    use ElementType as E;
    let (target, cast) = small_target(burn);
    println!("{SMALL_CASTS} casts of 1 KiB of float to float16, burn's to {target}");
    println!("us a cast, median of {RUNS} (fastest to slowest)");
    println!("{:47} {:>26} {:>26}", "", "host", "host and device");
    let source = Tensor::<1>::from_data(TensorData::new(values(SMALL), [SMALL]), &burn.device);
    let handle = primitive(source.clone())?.handle;
    let spec = CastSpec::new(E::FLOAT, E::FLOAT16);
    let prepared = burn.caster.prepare(&spec, SMALL as u64)?;
    let (input, output) = (prepared.source_bytes(), prepared.destination_bytes());
    let destination = burn.client.empty(SMALL_CASTS * output as usize);
    let (place, destination) = (burn.place(&handle)?, burn.place(&destination)?);
    let to = |i: usize| {
        let start = destination.offset + i as u64 * output;
        destination.buffer.slice(start..start + output)
    };

    let tensor = OnnxTensor::new(primitive(source.clone())?)?;
    let mut new: [Way<'_>; 5] = [
        (
            "burn: Tensor::cast",
            Box::new(|| {
                (0..SMALL_CASTS).for_each(|_| cast(source.clone()));
                burn.client.flush().map_err(debug)
            }),
        ),
        (
            "extension: Casts::cast",
            Box::new(|| {
                (0..SMALL_CASTS).try_for_each(|_| burn.casts.cast(&tensor, E::FLOAT16).map(drop))?;
                burn.client.flush().map_err(debug)
            }),
        ),
        (
            "wgpu-cast: Caster::prepare, Prepared::record",
            Box::new(|| {
                let mut encoder = burn.encoder();
                for i in 0..SMALL_CASTS {
                    burn.caster.prepare(&spec, SMALL as u64)?.record(
                        &mut encoder,
                        Source::whole(place.slice(input)),
                        Destination::whole(to(i)),
                    )?;
                }
                burn.submit(encoder)
            }),
        ),
        (
            "wgpu-cast: Prepared::record",
            Box::new(|| {
                let mut encoder = burn.encoder();
                for i in 0..SMALL_CASTS {
                    prepared.record(&mut encoder, Source::whole(place.slice(input)), Destination::whole(to(i)))?;
                }
                burn.submit(encoder)
            }),
        ),
        (
            "wgpu-cast: the same, 32 a submission as burn's",
            Box::new(|| {
                for first in (0..SMALL_CASTS).step_by(BURNS_BATCH) {
                    let mut encoder = burn.encoder();
                    for i in first..(first + BURNS_BATCH).min(SMALL_CASTS) {
                        prepared.record(&mut encoder, Source::whole(place.slice(input)), Destination::whole(to(i)))?;
                    }
                    burn.setup.queue.submit([encoder.finish()]);
                }
                Ok(())
            }),
        ),
    ];
    by_turns(burn, &mut new)?;

    // Only now, since so many living buffers slow down the making of others.
    let bind = |i: usize| prepared.bind(Source::whole(place.slice(input)), Destination::whole(to(i)));
    let bounds: Vec<Bound> = (0..SMALL_CASTS).map(bind).collect::<std::result::Result<_, _>>()?;
    let mut bound: [Way<'_>; 2] = [
        (
            "wgpu-cast: Bound::record, a pass each",
            Box::new(|| {
                let mut encoder = burn.encoder();
                bounds.iter().for_each(|bound| bound.record(&mut encoder));
                burn.submit(encoder)
            }),
        ),
        (
            "wgpu-cast: Bound::record_all, one pass",
            Box::new(|| {
                let mut encoder = burn.encoder();
                Bound::record_all(&bounds, &mut encoder);
                burn.submit(encoder)
            }),
        ),
    ];
    by_turns(burn, &mut bound)
}

/// Records and submits all the small casts.
type Way<'a> = (&'static str, Box<dyn FnMut() -> Result<()> + 'a>);

fn by_turns(burn: &Burn, ways: &mut [Way<'_>]) -> Result<()> {
    let mut times = vec![[Vec::new(), Vec::new()]; ways.len()];
    for _ in 0..=RUNS {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            burn.wait()?;
            let start = Instant::now();
            way()?;
            times[0].push(start.elapsed());
            burn.wait()?;
            times[1].push(start.elapsed());
        }
    }
    for ((name, _), times) in ways.iter().zip(&times) {
        let [host, both] = times.each_ref().map(|times| Spread::of(&times[1..], SMALL_CASTS).us());
        println!("{name:47} {host:>26} {both:>26}");
    }
    Ok(())
}

type SmallCast = fn(Tensor<1, Float>);

/// A cast of burn's own to half the width, or else to the same.
fn small_target(burn: &Burn) -> (&'static str, SmallCast) {
    if burn.device.supports_dtype(DType::F16) {
        ("float16", |source| drop(source.cast(FloatDType::F16)))
    } else {
        ("int32", |source| drop(source.cast(IntDType::I32)))
    }
}

/// From nothing on the queue to nothing on it.
fn timed(burn: &Burn, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    burn.wait()?;
    let start = Instant::now();
    work()?;
    burn.wait()?;
    Ok(start.elapsed())
}

/// Seconds of one of the casts of a run.
struct Spread {
    median: f64,
    fastest: f64,
    slowest: f64,
}

impl Spread {
    fn of(times: &[Duration], casts: usize) -> Self {
        let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() / casts as f64).collect();
        times.sort_by(f64::total_cmp);
        Self { median: times[times.len() / 2], fastest: times[0], slowest: times[times.len() - 1] }
    }

    fn ms(&self) -> String {
        self.scaled(1e3)
    }

    fn us(&self) -> String {
        self.scaled(1e6)
    }

    fn scaled(&self, by: f64) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.median * by, self.fastest * by, self.slowest * by)
    }
}

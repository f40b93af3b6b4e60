//! Casts on the CPU beside a copy of as many bytes, in GB/s: source and destination bytes together, over the time.
//!
//! The copy reads and writes half as many bytes each as the cast reads and writes in all. Cast and copy take turns, so
//! that whatever else the machine does meets both; every figure is the median of seven runs, `ratio` the median of each
//! run's cast over its copy, and `spread` the fastest cast over the slowest. The destination is used again: fresh memory
//! would be what is timed.

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use clap::Parser;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

const RUNS: usize = 7;

/// Casts between the pairs that people use, or those named.
#[derive(Parser)]
struct Arguments {
    /// Only from this type.
    #[arg(long)]
    from: Option<ElementType>,
    /// Only to this type.
    #[arg(long)]
    to: Option<ElementType>,
    /// All 625 pairs.
    #[arg(long)]
    all: bool,
    /// Elements of a tensor; several, separated by commas, for a sweep.
    #[arg(long, value_delimiter = ',', default_value = "16777216")]
    elements: Vec<usize>,
    /// Threads; several, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// One line of JSON a measurement.
    #[arg(long)]
    json: bool,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What people cast, most common first.
const COMMON: &str = "float float16, float16 float, float bfloat16, bfloat16 float, float16 bfloat16, bfloat16 float16, \
    double float, float double, float float8e4m3fn, float8e4m3fn float, float float8e5m2, float8e5m2 float, \
    bfloat16 float8e4m3fn, float8e4m3fn bfloat16, float16 float8e4m3fn, float8e4m3fn float16, float float8e8m0, \
    float8e8m0 float, float int8, int8 float, float uint8, uint8 float, uint8 float16, float int32, int32 float, \
    int64 int32, int32 int64, int64 float, float int64, float bool, bool float, float int4, int4 float, uint4 float16, \
    float float4e2m1, float4e2m1 float, float float6e2m3, float6e2m3 float, int8 int4, int4 int8";

fn main() {
    let arguments = Arguments::parse();
    let pools: Vec<ThreadPool> =
        arguments.threads.iter().map(|&n| ThreadPoolBuilder::new().num_threads(n).build().unwrap()).collect();
    if !arguments.json {
        println!("median of {RUNS}; GB/s of source and destination together, a copy of as many bytes beside it");
    }
    let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
    let common = COMMON.split(", ").map(|pair| {
        let (from, to) = pair.split_once(' ').unwrap();
        [from, to].map(|name| name.trim().parse().unwrap())
    });
    let every = arguments.all || arguments.from.is_some() || arguments.to.is_some();
    let pairs: Vec<[ElementType; 2]> =
        if every { numeric().flat_map(|from| numeric().map(move |to| [from, to])).collect() } else { common.collect() };
    for &elements in &arguments.elements {
        let mut held: Option<Tensor> = None;
        for &[from, to] in &pairs {
            let wanted = |filter: Option<ElementType>, t| filter.is_none_or(|filter| filter == t);
            if !wanted(arguments.from, from) || !wanted(arguments.to, to) {
                continue;
            }
            let tensor = held.take().filter(|t| t.element_type() == from).unwrap_or_else(|| random(from, elements));
            for pool in &pools {
                measure(&tensor, to, pool, arguments.json);
            }
            held = Some(tensor);
        }
    }
}

/// Random bits: NaN, subnormals, every exponent.
fn random(from: ElementType, elements: usize) -> Tensor {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = vec![0; from.packed_bytes(elements as u64).unwrap() as usize];
    for bytes in bytes.chunks_mut(8) {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.copy_from_slice(&state.to_le_bytes()[..bytes.len()]);
    }
    Tensor::from_bytes(from, [elements], bytes).unwrap()
}

fn measure(tensor: &Tensor, to: ElementType, pool: &ThreadPool, json: bool) {
    let (from, elements) = (tensor.element_type(), tensor.len());
    let mut destination = vec![1; to.packed_bytes(elements as u64).unwrap() as usize];
    let bytes = tensor.bytes().unwrap().len() + destination.len();
    let read = vec![1u8; bytes / 2];
    let mut written = vec![2u8; bytes / 2];
    let options = CastOptions::default();
    let threads = pool.current_num_threads();
    let piece = read.len().div_ceil(threads).max(1);
    // A short cast is repeated until the clock can see it.
    let repeats = (8 << 20) / bytes.max(1) + 1;
    let mut rates = [Vec::new(), Vec::new()];
    for run in 0..=RUNS {
        let start = Instant::now();
        pool.install(|| {
            for _ in 0..repeats {
                cpu::cast_into(tensor, to, &options, black_box(&mut destination)).unwrap();
            }
        });
        let cast = start.elapsed();
        let start = Instant::now();
        pool.install(|| {
            for _ in 0..repeats {
                let pieces = black_box(&mut written).par_chunks_mut(piece).zip(read.par_chunks(piece));
                pieces.for_each(|(written, read)| written.copy_from_slice(read));
            }
        });
        // The first run meets memory that nobody has touched.
        if run > 0 {
            let rate = |time: std::time::Duration| (bytes * repeats) as f64 / time.as_secs_f64() / 1e9;
            rates[0].push(rate(cast));
            rates[1].push(rate(start.elapsed()));
        }
    }
    let mut ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(cast, copy)| cast / copy).collect();
    rates.iter_mut().chain([&mut ratios]).for_each(|figures| figures.sort_by(f64::total_cmp));
    let [cast, copy, ratio] = [&rates[0], &rates[1], &ratios].map(|figures| figures[RUNS / 2]);
    let spread = rates[0][RUNS - 1] / rates[0][0];
    if json {
        let line = serde_json::json!({
            "from": from.name(), "to": to.name(), "threads": threads, "elements": elements,
            "gb_s": cast, "memcpy_gb_s": copy, "ratio": ratio, "spread": spread,
            "gb_s_fastest": rates[0][RUNS - 1], "memcpy_gb_s_fastest": rates[1][RUNS - 1],
        });
        println!("{line}");
    } else {
        let pair = format!("{from} to {to}");
        println!(
            "{pair:32} {elements:9} elements {threads} threads {cast:6.2} GB/s, copy {copy:6.2}: {ratio:.2} (spread {spread:.2})"
        );
    }
}

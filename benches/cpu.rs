//! Casts on the CPU in GB/s (bytes read and written per second), compared with a copy of the same number of bytes.
//!
//! The copy reads half of the bytes that the cast reads and writes, and writes the same number. Casts and copies
//! alternate, and every pair runs once before any pair runs again, so that other load on the machine affects all pairs
//! and the copy alike. Every figure is the median of seven runs, `ratio` is the median of the runs' ratios of cast to
//! copy, and `spread` is the fastest cast over the slowest. The destination is reused, because the page faults of new
//! memory would dominate the time.
//!
//! | argument | measures |
//! |---|---|
//! | `--from TYPE`, `--to TYPE` | pairs of this source type, of this destination type; without both, common pairs |
//! | `--all` | all pairs of numeric types |
//! | `--elements N,N` | elements of each tensor, `N` or several numbers [16777216] |
//! | `--one-per-byte` | codes of fewer than 8 bits lie one in each byte, instead of packed |
//! | `--threads N,N` | threads of a cast, `N` or several numbers [1,2] |
//! | `--json` | the same; each measurement is a line of JSON |

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use support::arguments::Arguments;
use wgpu_cast::{CastSpec, CodeLayout, ElementType, cpu};

const RUNS: usize = 7;

/// Common pairs, the most common first.
const COMMON: &str = "float float16, float16 float, float bfloat16, bfloat16 float, float16 bfloat16, bfloat16 float16, \
    double float, float double, float float8e4m3fn, float8e4m3fn float, float float8e5m2, float8e5m2 float, \
    bfloat16 float8e4m3fn, float8e4m3fn bfloat16, float16 float8e4m3fn, float8e4m3fn float16, float float8e8m0, \
    float8e8m0 float, float int8, int8 float, float uint8, uint8 float, uint8 float16, float int32, int32 float, \
    int64 int32, int32 int64, int64 float, float int64, float bool, bool float, float int4, int4 float, uint4 float16, \
    float float4e2m1, float4e2m1 float, float float6e2m3, float6e2m3 float, int8 int4, int4 int8";

fn main() {
    let mut arguments = Arguments::of_process();
    let from: Option<ElementType> = arguments.value("--from");
    let to: Option<ElementType> = arguments.value("--to");
    let (all, json) = (arguments.flag("--all"), arguments.flag("--json"));
    let layout = if arguments.flag("--one-per-byte") { CodeLayout::OnePerByte } else { CodeLayout::Packed };
    let sizes: Vec<usize> = arguments.values("--elements").unwrap_or_else(|| vec![1 << 24]);
    let threads: Vec<usize> = arguments.values("--threads").unwrap_or_else(|| vec![1, 2]);
    arguments.end();
    let pools: Vec<ThreadPool> =
        threads.iter().map(|&n| ThreadPoolBuilder::new().num_threads(n).build().unwrap()).collect();
    if !json {
        println!(
            "medians of {RUNS} runs; GB/s of bytes read and written, compared with a copy of the same number of bytes"
        );
    }
    let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
    let common = COMMON.split(", ").map(|pair| {
        let (from, to) = pair.split_once(' ').unwrap();
        [from, to].map(|name| name.trim().parse().unwrap())
    });
    let every = all || from.is_some() || to.is_some();
    let pairs: Vec<[ElementType; 2]> =
        if every { numeric().flat_map(|from| numeric().map(move |to| [from, to])).collect() } else { common.collect() };
    let wanted = |filter: Option<ElementType>, t| filter.is_none_or(|filter| filter == t);
    let pairs: Vec<_> =
        pairs.into_iter().filter(|&[source, target]| wanted(from, source) && wanted(to, target)).collect();
    for &elements in &sizes {
        let mut sources: Vec<(ElementType, Vec<u8>)> = Vec::new();
        for [from, _] in &pairs {
            if sources.iter().all(|(of, _)| of != from) {
                sources.push((*from, random(bytes_of(*from, layout, elements))));
            }
        }
        let source = |from| sources.iter().find(|(of, _)| *of == from).map(|(_, codes)| codes).expect("every source");
        let mut memory = Memory::new(&pairs, layout, elements);
        let mut measured = vec![Vec::new(); pairs.len() * pools.len()];
        // The first run is a warm-up.
        for run in 0..=RUNS {
            let tasks = pairs.iter().flat_map(|pair| pools.iter().map(move |pool| (pair, pool)));
            for ((&[from, to], pool), rates) in tasks.zip(&mut measured) {
                let rate = memory.measure(&CastSpec::new(from, to), layout, source(from), elements, pool);
                if run > 0 {
                    rates.push(rate);
                }
            }
        }
        for (rates, pair) in measured.chunks(pools.len()).zip(&pairs) {
            for (rates, pool) in rates.iter().zip(&pools) {
                show(pair, elements, pool.current_num_threads(), rates, json);
            }
        }
    }
}

/// Random bits: NaN, subnormals, every exponent.
fn random(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = vec![0; bytes];
    for bytes in bytes.chunks_mut(8) {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.copy_from_slice(&state.to_le_bytes()[..bytes.len()]);
    }
    bytes
}

fn bytes_of(of: ElementType, layout: CodeLayout, elements: usize) -> usize {
    layout.bytes(of, elements as u64).expect("a numeric type") as usize
}

/// The memory that casts and copies write, and the memory that copies read.
struct Memory {
    destination: Vec<u8>,
    read: Vec<u8>,
    written: Vec<u8>,
}

impl Memory {
    fn new(pairs: &[[ElementType; 2]], layout: CodeLayout, elements: usize) -> Self {
        let most = pairs.iter().flatten().map(|&of| bytes_of(of, layout, elements)).max().unwrap_or_default();
        Self { destination: vec![1; most], read: vec![1; most], written: vec![2; most] }
    }

    /// GB/s of a cast and of a copy.
    fn measure(
        &mut self,
        spec: &CastSpec,
        layout: CodeLayout,
        source: &[u8],
        elements: usize,
        pool: &ThreadPool,
    ) -> [f64; 2] {
        let destination = &mut self.destination[..bytes_of(spec.to, layout, elements)];
        let bytes = source.len() + destination.len();
        let (read, written) = (&self.read[..bytes / 2], &mut self.written[..bytes / 2]);
        let piece = read.len().div_ceil(pool.current_num_threads()).max(1);
        // A short cast is repeated until the clock can measure it.
        let repeats = (8 << 20) / bytes.max(1) + 1;
        let rate = |start: Instant| (bytes * repeats) as f64 / start.elapsed().as_secs_f64() / 1e9;
        let start = Instant::now();
        pool.install(|| {
            for _ in 0..repeats {
                cpu::cast_codes(spec, [layout; 2], source, elements, black_box(destination)).expect("a cast");
            }
        });
        let cast = rate(start);
        let start = Instant::now();
        pool.install(|| {
            for _ in 0..repeats {
                let pieces = black_box(&mut *written).par_chunks_mut(piece).zip(read.par_chunks(piece));
                pieces.for_each(|(written, read)| written.copy_from_slice(read));
            }
        });
        [cast, rate(start)]
    }
}

fn show([from, to]: &[ElementType; 2], elements: usize, threads: usize, rates: &[[f64; 2]], json: bool) {
    let sorted = |of: &dyn Fn(&[f64; 2]) -> f64| {
        let mut figures: Vec<f64> = rates.iter().map(of).collect();
        figures.sort_by(f64::total_cmp);
        figures
    };
    let (casts, copies, ratios) = (sorted(&|r| r[0]), sorted(&|r| r[1]), sorted(&|r| r[0] / r[1]));
    let [cast, copy, ratio] = [&casts, &copies, &ratios].map(|figures| figures[RUNS / 2]);
    let spread = casts[RUNS - 1] / casts[0];
    if json {
        let (fastest, copy_fastest) = (casts[RUNS - 1], copies[RUNS - 1]);
        println!(
            r#"{{"from": "{from}", "to": "{to}", "threads": {threads}, "elements": {elements}, "gb_s": {cast}, "memcpy_gb_s": {copy}, "ratio": {ratio}, "spread": {spread}, "gb_s_fastest": {fastest}, "memcpy_gb_s_fastest": {copy_fastest}}}"#
        );
    } else {
        let pair = format!("{from} to {to}");
        println!(
            "{pair:32} {elements:9} elements, threads: {threads}, {cast:6.2} GB/s, {:3.0} % of copy ({copy:6.2} GB/s), fastest/slowest {spread:.2}",
            100.0 * ratio
        );
    }
}

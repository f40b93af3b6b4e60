//! Casts of scaled elements beside the plain cast of the same source to the same type, in one run.
//!
//! Both run in turns, and every pair runs once before any pair runs again, so that other load on the machine affects all
//! alike. Every figure is the median of seven runs. The destination is reused.
//!
//! | argument | measures |
//! |---|---|
//! | `--rows N,N` | rows of 4,096 elements, `N` or several numbers [16,4096] |
//! | `--threads N,N` | threads of a cast, `N` or several numbers [1,2] |
//! | `--from TYPE,TYPE`, `--to TYPE,TYPE` | these types alone |
//!
//! In builds with `--cfg wgpu_cast_isa`, the variable `WGPU_CAST_ISA` chooses the instruction set.

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use support::arguments::Arguments;
use wgpu_cast::{CastSpec, ElementType, cpu};

const RUNS: usize = 7;
const COLUMNS: usize = 4096;
const FROM: [ElementType; 4] =
    [ElementType::FLOAT8E4M3FN, ElementType::FLOAT4E2M1, ElementType::INT8, ElementType::UINT4];
const TO: [ElementType; 3] = [ElementType::BFLOAT16, ElementType::FLOAT16, ElementType::FLOAT];

fn main() {
    let mut arguments = Arguments::of_process();
    let rows: Vec<usize> = arguments.values("--rows").unwrap_or_else(|| vec![16, 4096]);
    let threads: Vec<usize> = arguments.values("--threads").unwrap_or_else(|| vec![1, 2]);
    let from: Vec<ElementType> = arguments.values("--from").unwrap_or_else(|| FROM.to_vec());
    let to: Vec<ElementType> = arguments.values("--to").unwrap_or_else(|| TO.to_vec());
    arguments.end();
    let pools: Vec<ThreadPool> =
        threads.iter().map(|&n| ThreadPoolBuilder::new().num_threads(n).build().unwrap()).collect();
    println!("medians of {RUNS} runs; GB/s of bytes read and written, and the ratio to the plain cast");
    for &rows in &rows {
        let shape = [rows, COLUMNS];
        // Bit 3 is never set, so that no code of FLOAT8E4M3FN is NaN.
        let source: Vec<u8> =
            (0..rows * COLUMNS).map(|i| (i as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3] & 0xf7).collect();
        let mut destination = vec![1; 4 * source.len()];
        let mut measured = Vec::new();
        for run in 0..=RUNS {
            let mut index = 0;
            for &from in &from {
                for &to in &to {
                    for block in [shape, [1, COLUMNS], [128, 128], [1, 32], [1, 16]] {
                        for pool in &pools {
                            let rates =
                                measure(&CastSpec::new(from, to), shape, block, &source, &mut destination, pool);
                            if run == 0 {
                                measured.push((from, to, block, pool.current_num_threads(), Vec::new()));
                            } else {
                                measured[index].4.push(rates);
                            }
                            index += 1;
                        }
                    }
                }
            }
        }
        for (from, to, block, threads, rates) in measured {
            let median = |of: &dyn Fn(&[f64; 2]) -> f64| {
                let mut figures: Vec<f64> = rates.iter().map(of).collect();
                figures.sort_by(f64::total_cmp);
                figures[RUNS / 2]
            };
            let (scaled, plain, ratio) = (median(&|r| r[0]), median(&|r| r[1]), median(&|r| r[0] / r[1]));
            println!(
                "{from:12} to {to:8} {shape:?} in blocks {block:?}, threads: {threads}, {scaled:6.2} GB/s, {ratio:.2} of the plain cast ({plain:6.2} GB/s)"
            );
        }
    }
}

/// GB/s of a scaled and of a plain cast.
fn measure(
    spec: &CastSpec,
    shape: [usize; 2],
    block: [usize; 2],
    source: &[u8],
    destination: &mut [u8],
    pool: &ThreadPool,
) -> [f64; 2] {
    let elements = shape[0] * shape[1];
    let bytes = |of: ElementType| of.packed_bytes(elements as u64).expect("a numeric type") as usize;
    let (source, destination) = (&source[..bytes(spec.from)], &mut destination[..bytes(spec.to)]);
    let blocks = shape[0].div_ceil(block[0]) * shape[1].div_ceil(block[1]);
    let values: Vec<f32> = (0..blocks).map(|i| 0.001 + i as f32 * 1e-7).collect();
    let zero_points = vec![7; blocks];
    let mut scales = cpu::Scales::new(&shape, &block, &values).expect("scales");
    if spec.from == ElementType::UINT4 {
        scales = scales.with_zero_points(&zero_points).expect("zero points");
    }
    let bytes = source.len() + destination.len();
    // A short cast is repeated until the clock can measure it.
    let repeats = (8 << 20) / bytes.max(1) + 1;
    let rate = |start: Instant| (bytes * repeats) as f64 / start.elapsed().as_secs_f64() / 1e9;
    pool.install(|| {
        let start = Instant::now();
        for _ in 0..repeats {
            cpu::cast_scaled(spec, &scales, source, black_box(destination)).expect("a scaled cast");
        }
        let scaled = rate(start);
        let start = Instant::now();
        for _ in 0..repeats {
            cpu::cast_bytes(spec, source, elements, black_box(destination)).expect("a cast");
        }
        [scaled, rate(start)]
    })
}

//! Casts of numbers to strings and back in millions of elements per second, compared with loops over the standard
//! library.
//!
//! Every figure is the median of seven runs, with the slowest and the fastest. The three variants alternate, so that
//! other load on the machine affects all of them. The standard library prints some numbers differently (`1` for `1.0`),
//! but does the same work.

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use half::f16;
use rayon::ThreadPoolBuilder;
use support::random::Random;
use wgpu_cast::{CastOptions, Element, ElementType, Tensor, cpu};

const ELEMENTS: usize = 1 << 20;
const RUNS: usize = 7;

fn main() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let normal: Vec<f64> = (0..ELEMENTS).map(|_| normal(&mut random)).collect();
    println!("{ELEMENTS} elements, 10^6 elements/s, medians of {RUNS} runs (slowest to fastest); x: ratio to std");
    // Six to nine digits, as binary32 has them.
    let single: Vec<f32> = normal.iter().map(|&value| value as f32).collect();
    both_ways("float", &single, |v| v.to_string(), |s| s.parse::<f32>().unwrap());
    let bits: Vec<f32> = (0..ELEMENTS).map(|_| f32::from_bits(random.next() as u32)).map(finite).collect();
    both_ways("float, any exponent", &bits, |v| v.to_string(), |s| s.parse::<f32>().unwrap());
    both_ways("double", &normal, |v| v.to_string(), |s| s.parse::<f64>().unwrap());
    let long: Vec<i64> = (0..ELEMENTS).map(|_| random.next() as i64 >> (random.next() % 64)).collect();
    both_ways("int64", &long, |v| v.to_string(), |s| s.parse::<i64>().unwrap());
    let half: Vec<f16> = normal.iter().map(|&value| f16::from_f64(value)).collect();
    both_ways("float16", &half, |v| v.to_f32().to_string(), |s| f16::from_f32(s.parse().unwrap()));
    let short: Vec<f16> = normal.iter().map(|&value| f16::from_f64((value * 4.0).round() / 4.0)).collect();
    both_ways("float16, quarters", &short, |v| v.to_f32().to_string(), |s| f16::from_f32(s.parse().unwrap()));
}

fn finite(value: f32) -> f32 {
    if value.is_finite() { value } else { 1.5 }
}

/// Prints and reads `values`, and does the same with the standard library's `print` and `read`.
fn both_ways<T: Element + Sync>(name: &str, values: &[T], print: impl Fn(&T) -> String, read: impl Fn(&str) -> T) {
    let numbers = Tensor::from_slice([ELEMENTS], values).unwrap();
    let strings = cast(&numbers, ElementType::STRING);
    let texts: Vec<&str> = strings.strings().unwrap().collect();
    compare(
        &format!("{name} to string"),
        || drop(black_box(cast(&numbers, ElementType::STRING))),
        || drop(black_box(values.iter().map(&print).collect::<Vec<_>>())),
    );
    compare(
        &format!("string to {name}"),
        || drop(black_box(cast(&strings, T::ELEMENT_TYPE))),
        || drop(black_box(texts.iter().map(|text| read(text)).collect::<Vec<_>>())),
    );
}

fn cast(tensor: &Tensor, to: ElementType) -> Tensor {
    cpu::cast(tensor, to, &CastOptions::default()).unwrap()
}

/// Measures this crate with one thread, this crate with all threads and the standard library in turns. Prints one line.
fn compare(name: &str, ours: impl Fn() + Sync, std: impl Fn()) {
    let pools = [1, 0].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    let mut rates = [(); 3].map(|()| Vec::new());
    for _ in 0..RUNS {
        rates[0].push(pools[0].install(|| rate(&ours)));
        rates[1].push(pools[1].install(|| rate(&ours)));
        rates[2].push(rate(&std));
    }
    rates.iter_mut().for_each(|rates| rates.sort_by(f64::total_cmp));
    let median = |rates: &[f64]| rates[RUNS / 2];
    let shown = |rates: &[f64]| format!("{:6.1} ({:.1} to {:.1})", median(rates), rates[RUNS - 1], rates[0]);
    let times = |which: usize| median(&rates[which]) / median(&rates[2]);
    println!(
        "{name:31} 1 thread {} {:4.1} x   {} threads {} {:4.1} x   std {}",
        shown(&rates[0]),
        times(0),
        pools[1].current_num_threads(),
        shown(&rates[1]),
        times(1),
        shown(&rates[2])
    );
}

fn rate(work: impl Fn()) -> f64 {
    let start = Instant::now();
    work();
    ELEMENTS as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// Of the standard normal distribution (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let [a, b] = [(); 2].map(|()| ((random.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64);
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

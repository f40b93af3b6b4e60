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
    difficult();
}

/// Literals that take long to read, one after the other: close to a number or halfway between two, and far longer than
/// any number.
fn difficult() {
    let smallest = format!("{:.800e}", f64::from_bits(1));
    let (digits, zeros) = (&smallest[2..480], "0".repeat(1 << 20));
    println!("ns a literal, on one thread, medians of {RUNS} runs; x: time in times that of std for a double");
    for (name, literal) in [
        ("490 digits at e-324", format!("2.{digits}1e-324")),
        ("halfway at e-324", format!("{:.751e}", f64::from_bits(1)).replace("4.94", "2.47")),
        ("2049, 30 digits", "2049.0000000000000000000000000001".to_owned()),
        ("halfway of float16, 25 digits", "0.0000000894069671630859375".to_owned()),
        ("almost 2^-30, 60 digits", format!("{:.59}", 2f64.powi(-30)).replace("5000", "4999")),
        ("bfloat16, 130 digits", format!("{:.140}", 2f64.powi(-133))),
        ("1e, 2^20 zeros", format!("1e{zeros}")),
        ("1, 2^20 zeros, e-2^20", format!("1{zeros}e-1048576")),
        ("2^20 digits", format!("0.{}", "7".repeat(1 << 20))),
    ] {
        let count = (1 << 22 >> literal.len().ilog2()).max(1);
        let tensor = Tensor::from_strings([count], vec![literal.as_str(); count]).unwrap();
        let std = nanoseconds(count, || (0..count).for_each(|_| drop(black_box(black_box(&literal).parse::<f64>()))));
        let types = ["double", "float", "float16", "bfloat16", "float8e8m0", "float4e2m1"];
        let alone = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let each = types.map(|name| {
            let to: ElementType = name.parse().unwrap();
            let ours = alone.install(|| nanoseconds(count, || drop(black_box(cast(&tensor, to)))));
            format!("{name} {:.1} x", ours / std)
        });
        println!("{name:30} std {std:10.0}   {}", each.join("   "));
    }
}

fn nanoseconds(count: usize, work: impl Fn()) -> f64 {
    let mut times = [(); RUNS].map(|()| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / count as f64
    });
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
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

/// A number of the standard normal distribution (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let [a, b] = [(); 2].map(|()| ((random.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64);
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

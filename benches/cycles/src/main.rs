//! Casts each pair of types, so that `cycles.py` can watch the processor's steps in an emulator.
//!
//! Without arguments it casts all pairs; `FROM TO` names one, and `peers` means the conversions of the crate `half`. It
//! prints a line for each cast, and calls [`mark`] before and after it. Each cast runs three times: once for
//! everything that only a first cast does, then with `ELEMENTS` elements, then with twice as many. The difference of the
//! last two is what `ELEMENTS` elements cost.

use std::env;
use std::hint::black_box;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use wgpu_cast::{CastSpec, CodeLayout, ElementType, cpu};

/// A multiple of the elements of every step, and of the codes that are packed at a time.
const ELEMENTS: usize = 4096;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments == ["peers"] {
        return peers();
    }
    let memory = || vec![0; 2 * 8 * ELEMENTS + LINE];
    let (mut source, mut destination) = (memory(), memory());
    let (source, destination) = (from_line(&mut source), from_line(&mut destination));
    let mut random = 1u64;
    for byte in &mut *source {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (random >> 56) as u8;
    }
    for from in stored() {
        for to in stored() {
            let pair = [text(from), text(to)];
            if arguments.is_empty() || arguments == pair {
                println!("{} {}", pair[0], pair[1]);
                run(|elements| cast(from, to, elements, source, destination));
            }
        }
    }
}

const LINE: usize = 64;

/// The bytes from the start of a cache line on.
fn from_line(memory: &mut [u8]) -> &mut [u8] {
    let at = memory.as_ptr().align_offset(LINE);
    &mut memory[at..]
}

/// A type, and the layout of its codes.
type Stored = (ElementType, CodeLayout);

fn stored() -> impl Iterator<Item = Stored> {
    let all = || ElementType::ALL.iter().copied().filter(|&t| t != ElementType::STRING);
    let short = all().filter(|t| t.bits().is_some_and(|bits| bits < 8));
    all().map(|t| (t, CodeLayout::Packed)).chain(short.map(|t| (t, CodeLayout::OnePerByte)))
}

fn text((of, layout): Stored) -> String {
    match layout {
        CodeLayout::OnePerByte => format!("{of}/byte"),
        _ => of.to_string(),
    }
}

fn cast(from: Stored, to: Stored, elements: usize, source: &[u8], destination: &mut [u8]) {
    let bytes = |(of, layout): Stored| layout.bytes(of, elements as u64).expect("few elements") as usize;
    let (source, destination) = (&source[..bytes(from)], &mut destination[..bytes(to)]);
    let spec = CastSpec::new(from.0, to.0);
    cpu::cast_codes(&spec, [from.1, to.1], source, elements, destination).expect("both have the bytes");
}

/// The conversions of the crate `half`.
fn peers() {
    let floats: Vec<f32> = (0..2 * ELEMENTS).map(|i| i as f32 - 4096.0).collect();
    let doubles: Vec<f64> = floats.iter().copied().map(f64::from).collect();
    let (mut to_floats, mut to_doubles) = (floats.clone(), doubles.clone());
    let (mut halves, mut brains) = (vec![f16::ZERO; 2 * ELEMENTS], vec![bf16::ZERO; 2 * ELEMENTS]);
    println!("float float16");
    run(|n| halves[..n].convert_from_f32_slice(&floats[..n]));
    println!("float16 float");
    run(|n| halves[..n].convert_to_f32_slice(&mut to_floats[..n]));
    println!("double float16");
    run(|n| halves[..n].convert_from_f64_slice(&doubles[..n]));
    println!("float16 double");
    run(|n| halves[..n].convert_to_f64_slice(&mut to_doubles[..n]));
    println!("float bfloat16");
    run(|n| brains[..n].convert_from_f32_slice(&floats[..n]));
    println!("bfloat16 float");
    run(|n| brains[..n].convert_to_f32_slice(&mut to_floats[..n]));
    println!("double bfloat16");
    run(|n| brains[..n].convert_from_f64_slice(&doubles[..n]));
    println!("bfloat16 double");
    run(|n| brains[..n].convert_to_f64_slice(&mut to_doubles[..n]));
    black_box((to_floats, to_doubles, halves, brains));
}

fn run(mut work: impl FnMut(usize)) {
    work(ELEMENTS);
    mark();
    work(ELEMENTS);
    mark();
    work(2 * ELEMENTS);
    mark();
}

/// The calls of [`mark`]. Without it, the function would do nothing, and the compiler would drop it.
static MARKS: AtomicUsize = AtomicUsize::new(0);

/// `cycles.py` finds this function by its name.
#[inline(never)]
fn mark() {
    MARKS.fetch_add(1, Relaxed);
}

//! One side of a comparison of two builds, which `compare.py` drives: on one thread, it does what each line of stdin
//! says, and answers with a line.
//!
//! | line | answer |
//! |---|---|
//! | `time FROM TO ELEMENTS VALUES BLOCKS NANOSECONDS` | nanoseconds of a cast: the fastest of BLOCKS blocks, each of casts for about NANOSECONDS |
//! | `bits FROM TO ELEMENTS VALUES` | a hash of the result |
//! | `load FROM TO ELEMENTS VALUES` | `loaded`: the next line finds the source and memory there |
//!
//! VALUES is `random` (random bits) or `ordinary` (numbers between −8 and 8). `WGPU_CAST_ISA` names the instruction set
//! in a build with `--cfg wgpu_cast_isa`. This file uses only the public interface, so that it can be built with older
//! versions of the crate, too.

#![allow(missing_docs, reason = "a program")]

use std::error::Error;
use std::hint::black_box;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;

use rayon::ThreadPoolBuilder;
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    if io::stdin().is_terminal() {
        println!("This is one side of a comparison, which benches/compare/compare.py runs.");
        return Ok(());
    }
    ThreadPoolBuilder::new().num_threads(1).build()?.install(serve)
}

fn serve() -> Result<()> {
    let mut side = Side::default();
    for line in io::stdin().lock().lines() {
        let answer = side.answer(line?.trim_end())?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

/// The last source, kept for the next line, and memory for results.
///
/// The physical pages of a process, and the place in a cache line where its stack starts, can cost a quarter of the
/// speed in the caches. So short tensors lie in several places, and casts run at several depths of the stack, by turns.
/// The fastest turn then does not depend on chance.
#[derive(Default)]
struct Side {
    sources: Vec<Tensor>,
    /// The arguments that the sources were made from.
    name: String,
    memory: Vec<u8>,
    turns: usize,
}

const SHORT: usize = 1 << 18;
// No two of these numbers have a common divisor, so that each value of one meets all values of the others.
const SOURCES: usize = 3;
const DESTINATIONS: usize = 5;
const DEPTHS: [fn(&mut dyn FnMut()); 4] = [deeper::<16>, deeper::<32>, deeper::<48>, deeper::<64>];
const PAGE: usize = 4096;

impl Side {
    fn answer(&mut self, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [command, from, to, elements, values, rest @ ..] = &words[..] else {
            return Err(format!("not understood: {line}").into());
        };
        let elements: usize = elements.parse()?;
        let [sources, destinations] = if elements <= SHORT { [SOURCES, DESTINATIONS] } else { [1, 1] };
        let name = format!("{from} {elements} {values}");
        if self.name != name {
            // The old sources are freed before the new ones are made.
            self.sources.clear();
            for _ in 0..sources {
                self.sources.push(source(from.parse()?, elements, values)?);
            }
            self.name = name;
        }
        self.turns += 1;
        let source = &self.sources[self.turns % sources];
        let to: ElementType = to.parse()?;
        let destination = place(&mut self.memory, packed_bytes(to, elements)?, self.turns % destinations);
        Ok(match (*command, rest) {
            ("time", [blocks, nanoseconds]) => {
                let [blocks, nanoseconds] = [blocks.parse()?, nanoseconds.parse()?];
                let mut figure = Ok(0.0);
                DEPTHS[self.turns % DEPTHS.len()](&mut || {
                    figure = time(source, to, destination, blocks, nanoseconds);
                });
                figure?.to_string()
            }
            ("load", []) => "loaded".to_owned(),
            ("bits", []) => {
                cpu::cast_into(source, to, &CastOptions::default(), destination)?;
                format!("{:016x}", hash(destination))
            }
            _ => return Err(format!("not understood: {line}").into()),
        })
    }
}

/// Runs `work` with `BYTES` more bytes on the stack.
#[inline(never)]
fn deeper<const BYTES: usize>(work: &mut dyn FnMut()) {
    let bytes = black_box([0u8; BYTES]);
    work();
    black_box(&bytes);
}

/// Nanoseconds of one cast in the fastest block.
fn time(source: &Tensor, to: ElementType, destination: &mut [u8], blocks: u32, nanoseconds: u32) -> Result<f64> {
    let options = CastOptions::default();
    let mut block = |casts: u32| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..casts {
            cpu::cast_into(black_box(source), to, &options, black_box(destination))?;
        }
        Ok(start.elapsed().as_nanos() as f64 / f64::from(casts))
    };
    // The first cast fills the caches, and its time gives the number of casts in a block. If one cast is a block, the
    // first one counts, too.
    let first = block(1)?;
    let casts = (f64::from(nanoseconds) / first.max(1.0)).ceil().max(1.0) as u32;
    let mut fastest = if casts == 1 { first } else { f64::INFINITY };
    for _ in u32::from(casts == 1)..blocks {
        fastest = fastest.min(block(casts)?);
    }
    Ok(fastest)
}

fn source(from: ElementType, elements: usize, values: &str) -> Result<Tensor> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    // Marsaglia's xorshift.
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let bytes = packed_bytes(from, elements)?;
    // Memory of this size has pages of its own, and starts at the same offset in a page in every process.
    let mut codes = Vec::with_capacity(bytes.max(40 << 20));
    match values {
        "random" => {
            codes.resize(bytes, 0);
            for codes in codes.chunks_mut(8) {
                codes.copy_from_slice(&random().to_le_bytes()[..codes.len()]);
            }
        }
        "ordinary" => {
            let numbers: Vec<f32> = (0..elements).map(|_| (random() >> 40) as f32 / (1 << 20) as f32 - 8.0).collect();
            let cast = cpu::cast(&Tensor::from_slice([elements], &numbers)?, from, &CastOptions::default())?;
            codes.extend_from_slice(cast.bytes().ok_or("no bytes")?);
        }
        _ => return Err(format!("no values: {values}").into()),
    }
    Ok(Tensor::from_bytes(from, [elements], codes)?)
}

fn packed_bytes(of: ElementType, elements: usize) -> Result<usize> {
    let bytes = of.packed_bytes(elements as u64).ok_or("no numeric type")?;
    Ok(usize::try_from(bytes)?)
}

/// One of several pieces of memory that start at a page.
fn place(memory: &mut Vec<u8>, bytes: usize, index: usize) -> &mut [u8] {
    let piece = bytes.next_multiple_of(PAGE);
    let whole = DESTINATIONS * piece.min(SHORT * 8) + piece + PAGE;
    if memory.len() < whole {
        // The bytes are not zero, because a system provides zeroed memory only when it is written.
        *memory = vec![1; whole];
    }
    let start = memory.as_ptr().align_offset(PAGE) + index * piece;
    &mut memory[start..][..bytes]
}

/// FNV-1a of eight bytes at a time.
fn hash(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3)
    })
}

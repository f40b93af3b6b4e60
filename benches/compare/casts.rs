//! One side of a comparison of two builds, which `compare.py` drives: casts on one thread what each line of stdin names,
//! and answers with a line.
//!
//! | line | answer |
//! |---|---|
//! | `time FROM TO ELEMENTS VALUES BLOCKS NANOSECONDS` | nanoseconds of a cast: the fastest of BLOCKS blocks, each of casts for about NANOSECONDS |
//! | `bits FROM TO ELEMENTS VALUES` | a hash of the result |
//!
//! VALUES is `random` (random bits) or `ordinary` (numbers between −8 and 8). `WGPU_CAST_ISA` names the instruction set.
//! This file uses only the public interface, so that it can be built beside older versions of the crate too.

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
#[derive(Default)]
struct Side {
    source: Option<(String, Tensor)>,
    memory: Vec<u8>,
}

impl Side {
    fn answer(&mut self, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [command, from, to, elements, values, rest @ ..] = &words[..] else {
            return Err(format!("not understood: {line}").into());
        };
        let name = format!("{from} {elements} {values}");
        if self.source.as_ref().is_none_or(|(of, _)| *of != name) {
            // The old one is freed before the new one is made.
            self.source = None;
            self.source = Some((name, source(from.parse()?, elements.parse()?, values)?));
        }
        let (_, source) = self.source.as_ref().ok_or("no source")?;
        let to: ElementType = to.parse()?;
        let destination = aligned(&mut self.memory, packed_bytes(to, source.len())?);
        Ok(match (*command, rest) {
            ("time", [blocks, nanoseconds]) => {
                time(source, to, destination, blocks.parse()?, nanoseconds.parse()?)?.to_string()
            }
            ("bits", []) => {
                cpu::cast_into(source, to, &CastOptions::default(), destination)?;
                format!("{:016x}", hash(destination))
            }
            _ => return Err(format!("not understood: {line}").into()),
        })
    }
}

/// Nanoseconds of one cast in the fastest block.
fn time(source: &Tensor, to: ElementType, destination: &mut [u8], blocks: u32, nanoseconds: f64) -> Result<f64> {
    let options = CastOptions::default();
    let mut block = |casts: u32| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..casts {
            cpu::cast_into(black_box(source), to, &options, black_box(destination))?;
        }
        Ok(start.elapsed().as_nanos() as f64 / f64::from(casts))
    };
    // The first cast fills the caches and says how many make a block; one that is a block by itself counts.
    let first = block(1)?;
    let casts = (nanoseconds / first.max(1.0)).ceil().max(1.0) as u32;
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
    match values {
        "random" => {
            let mut bytes = vec![0; packed_bytes(from, elements)?];
            for bytes in bytes.chunks_mut(8) {
                bytes.copy_from_slice(&random().to_le_bytes()[..bytes.len()]);
            }
            Ok(Tensor::from_bytes(from, [elements], bytes)?)
        }
        "ordinary" => {
            let numbers: Vec<f32> = (0..elements).map(|_| (random() >> 40) as f32 / (1 << 20) as f32 - 8.0).collect();
            Ok(cpu::cast(&Tensor::from_slice([elements], &numbers)?, from, &CastOptions::default())?)
        }
        _ => Err(format!("no values: {values}").into()),
    }
}

fn packed_bytes(of: ElementType, elements: usize) -> Result<usize> {
    let bytes = of.packed_bytes(elements as u64).ok_or("no numeric type")?;
    Ok(usize::try_from(bytes)?)
}

/// Memory that starts at a page in every process, so that where it lies makes no difference.
fn aligned(memory: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    const PAGE: usize = 4096;
    if memory.len() < bytes + PAGE {
        // Not zeroes, which a system would hand out only when they are written to.
        *memory = vec![1; bytes + PAGE];
    }
    let start = memory.as_ptr().align_offset(PAGE);
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

//! Mutated literals and casts, on stable Rust and without a fuzzer's tools.
//!
//! As a test, each target runs all of its folder of `corpus`, and then a fixed number of mutations that are the
//! same every time. To go on for longer, each target for so many seconds, from another seed at every start:
//!
//! ```sh
//! CAST_FUZZ_SECONDS=600 cargo test --release -p wgpu-cast --test fuzz -- --nocapture
//! ```
//!
//! `CAST_FUZZ_SEED=<number>` starts from the seed that a run printed. A target's name after `--` runs it alone. An
//! input that panics, breaks a property, takes more memory than its length explains or hangs (20 seconds without an
//! answer) fails the test and is left in a file, which the message names: copied to the corpus, it is run every time.

mod cast;
#[macro_use]
mod engine;
mod fields;
mod literal;
mod mutate;

target!(literal: literal::check, corpus "literal", iterations 20_000 500, structured false, longest 16 << 10);
target!(cast: cast::check, corpus "cast", iterations 3_000 300, structured false, longest 8 << 10);

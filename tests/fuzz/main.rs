//! Mutated messages, files, literals and casts, on stable Rust and without a fuzzer's tools.
//!
//! As a test, each target runs all of `tests/fuzz/corpus/<target>`, and then a fixed number of mutations that are the
//! same every time. To go on for longer, each target for so many seconds, from another seed at every start:
//!
//! ```sh
//! CAST_FUZZ_SECONDS=600 cargo test --release --test fuzz -- --nocapture
//! ```
//!
//! `CAST_FUZZ_SEED=<number>` starts from the seed that a run printed. A target's name after `--` runs it alone. An
//! input that panics, breaks a property, takes more memory than its length explains or hangs (20 seconds without an
//! answer) fails the test and is left in a file, which the message names: copied to the corpus, it is run every time.

mod cast;
mod engine;
mod fields;
mod files;
mod literal;
mod messages;
mod mutate;

use engine::Target;
use support::tier::count;

#[test]
fn literal() {
    Target {
        name: "literal",
        check: literal::check,
        iterations: count(20_000, 500),
        structured: false,
        longest: 16 << 10,
    }
    .run();
}

#[test]
fn model() {
    Target {
        name: "model",
        check: messages::model,
        iterations: count(100_000, 2_000),
        structured: true,
        longest: 4 << 10,
    }
    .run();
}

#[test]
fn tensor() {
    Target {
        name: "tensor",
        check: messages::tensor,
        iterations: count(200_000, 4_000),
        structured: true,
        longest: 4 << 10,
    }
    .run();
}

#[test]
fn npy() {
    Target { name: "npy", check: files::npy, iterations: count(100_000, 2_000), structured: false, longest: 1 << 10 }
        .run();
}

#[test]
fn safetensors() {
    Target {
        name: "safetensors",
        check: files::safetensors,
        iterations: count(50_000, 1_000),
        structured: false,
        longest: 2 << 10,
    }
    .run();
}

#[test]
fn cast() {
    Target { name: "cast", check: cast::check, iterations: count(3_000, 300), structured: false, longest: 8 << 10 }
        .run();
}

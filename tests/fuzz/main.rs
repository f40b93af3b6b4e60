//! Mutated messages, files, literals and casts, on stable Rust and without a fuzzer's tools.
//!
//! As a test, each target runs all of its folder of `tests/fuzz/corpus`, and then a fixed number of mutations that are the
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

/// Makes the test of a target.
macro_rules! target {
    ($name:ident: $check:path, corpus $corpus:literal, iterations $full:literal $few:literal, structured $structured:literal, longest $longest:expr) => {
        #[test]
        fn $name() {
            Target {
                name: stringify!($name),
                corpus: $corpus,
                check: $check,
                iterations: count($full, $few),
                structured: $structured,
                longest: $longest,
            }
            .run();
        }
    };
}

target!(literal: literal::check, corpus "literal", iterations 20_000 500, structured false, longest 16 << 10);
target!(model: messages::model, corpus "model", iterations 100_000 2_000, structured true, longest 4 << 10);
target!(tensor: messages::tensor, corpus "tensor", iterations 200_000 4_000, structured true, longest 4 << 10);
target!(npy: files::npy, corpus "npy", iterations 100_000 2_000, structured false, longest 1 << 10);
target!(npz: files::npz, corpus "npz", iterations 30_000 500, structured false, longest 4 << 10);
target!(onnx_model: files::onnx_model, corpus "onnx_model", iterations 60_000 1_000, structured true, longest 4 << 10);
target!(safetensors: files::safetensors, corpus "safetensors", iterations 50_000 1_000, structured false, longest 2 << 10);
target!(stored_tensor: files::stored_tensor, corpus "tensor", iterations 100_000 2_000, structured true, longest 4 << 10);
target!(cast: cast::check, corpus "cast", iterations 3_000 300, structured false, longest 8 << 10);

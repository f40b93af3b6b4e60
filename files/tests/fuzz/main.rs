//! Mutated messages and files. The loop and the mutations are those of the suite `fuzz` of `wgpu-cast`, whose head says how to
//! go on for longer:
//!
//! ```sh
//! CAST_FUZZ_SECONDS=600 cargo test --release -p wgpu-cast-files --test fuzz -- --nocapture
//! ```

#[macro_use]
#[path = "../../../tests/fuzz/engine.rs"]
mod engine;
#[path = "../../../tests/fuzz/fields.rs"]
mod fields;
mod files;
mod messages;
#[path = "../../../tests/fuzz/mutate.rs"]
mod mutate;

target!(model: messages::model, corpus "model", iterations 100_000 2_000, structured true, longest 4 << 10);
target!(tensor: messages::tensor, corpus "tensor", iterations 200_000 4_000, structured true, longest 4 << 10);
target!(npy: files::npy, corpus "npy", iterations 100_000 2_000, structured false, longest 1 << 10);
target!(npz: files::npz, corpus "npz", iterations 30_000 500, structured false, longest 4 << 10);
target!(onnx_model: files::onnx_model, corpus "onnx_model", iterations 60_000 1_000, structured true, longest 4 << 10);
target!(safetensors: files::safetensors, corpus "safetensors", iterations 50_000 1_000, structured false, longest 2 << 10);
target!(stored_tensor: files::stored_tensor, corpus "tensor", iterations 100_000 2_000, structured true, longest 4 << 10);

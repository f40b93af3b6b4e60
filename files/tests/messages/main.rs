//! ONNX messages written byte by byte: valid tensors and models in every form, and invalid ones.

mod external;
mod graphs;
mod hostile;
mod models;
mod nodes;
mod repeated;
mod runs;
mod sizes;
mod tensor;
#[cfg(unix)]
mod unix;
mod wire;
mod written;

//! ONNX's messages, byte by byte: tensors and models that are right in every way they can be, and in every way wrong.

mod external;
mod graphs;
mod hostile;
mod models;
mod nodes;
mod runs;
mod sizes;
mod tensor;
#[cfg(unix)]
mod unix;
mod wire;
mod written;

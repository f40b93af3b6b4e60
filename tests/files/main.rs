//! Files of tensors: what is read, what is planned and refused, and the pieces in which it is converted.

mod losses;
mod npy;
mod npz;
mod plans;
mod raw;
mod safetensors;
mod stream;
mod tensor_proto;
#[allow(dead_code, reason = "messages of models are not needed here")]
#[path = "../messages/wire.rs"]
mod wire;

//! Files of tensors: what is read, what is planned, and what is refused.

mod npy;
mod npz;
mod plans;
mod raw;
mod tensor_proto;
#[allow(dead_code, reason = "messages of models are not needed here")]
#[path = "../messages/wire.rs"]
mod wire;

//! Files of tensors: their headers, good and hostile, and the pieces in which they are converted.

mod losses;
mod safetensors;
mod stream;

//! Weights become codes with scales: `--quantize`.

mod config;
mod layout;
mod task;
mod weights;

use wgpu_cast::ElementType;

pub use config::{configuration, transposed_layers};
pub use layout::Layout;
pub use weights::is_weight;

/// The type of the codes. Readers of these layouts know no other one.
pub const CODES: ElementType = ElementType::FLOAT8E4M3FN;

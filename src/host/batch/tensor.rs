//! The tensors of batches.

use std::sync::{Arc, OnceLock};

use crate::host::device_batch::Resident;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::tensor::Tensor;

/// A tensor of a [`Batch`](crate::Batch): on the host, on the device, or on both. A clone is the same tensor. The
/// memory is freed when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct BatchTensor(pub(super) Arc<Value>);

#[derive(Debug)]
pub(super) struct Value {
    pub element_type: ElementType,
    pub shape: Arc<[usize]>,
    pub elements: u64,
    pub host: OnceLock<Tensor>,
    pub device: OnceLock<Resident>,
    /// The last cast that made the value, for messages.
    pub made_by: Option<Conversion>,
    pub batch: Arc<()>,
}

impl BatchTensor {
    /// The element type.
    pub fn element_type(&self) -> ElementType {
        self.0.element_type
    }

    /// The number of elements along each axis; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }
}

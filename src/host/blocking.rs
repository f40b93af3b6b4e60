//! Casts of host tensors without futures, for threads that may block.

use std::sync::{Arc, Mutex, PoisonError};

use crate::host::adapter::DeviceChoice;
use crate::host::context::{CastReport, Context};
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::tensor::Tensor;

/// The context that the whole process shares.
static CONTEXT: Mutex<Option<Arc<Context>>> = Mutex::new(None);

/// The context that all callers in the process share. The first call opens it with [`DeviceChoice::Auto`]. After the
/// device was lost, the next call opens a new one.
///
/// # Errors
/// As [`Context::open`].
pub fn context() -> Result<Arc<Context>, Error> {
    // A poisoned lock is safe to use: the context is stored in one step, so a panic leaves the old one or none.
    let mut held = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = held.as_ref().filter(|context| !context.is_lost()) {
        return Ok(context.clone());
    }
    let context = Arc::new(pollster::block_on(Context::open(DeviceChoice::Auto))?);
    *held = Some(context.clone());
    Ok(context)
}

/// Casts a tensor as [`Context::cast`] does with [`DeviceChoice::Auto`].
///
/// On targets with vector instructions, this is always the CPU, and no device is opened. On others, all calls in the
/// process share the [`context`]: the first call opens it, and the next call after the device was lost opens a new one.
///
/// # Errors
/// As [`Context::cast`].
pub fn cast(tensor: &Tensor, to: ElementType, options: &CastOptions) -> Result<(Tensor, CastReport), Error> {
    let context = Context::for_casts().map_or_else(context, |context| Ok(Arc::new(context)))?;
    pollster::block_on(context.cast(tensor, to, options))
}

/// Casts a tensor as [`Context::cast_like`], in the same place as [`cast`].
///
/// # Errors
/// As [`Context::cast_like`].
pub fn cast_like(tensor: &Tensor, like: &Tensor, options: &CastOptions) -> Result<(Tensor, CastReport), Error> {
    cast(tensor, like.element_type(), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_share_a_context_and_single_casts_open_none() {
        assert!(Arc::ptr_eq(&context().unwrap(), &context().unwrap()));
        let tensor = Tensor::from_slice([1], &[1.0f32]).unwrap();
        let like = Tensor::from_slice([1], &[1i8]).unwrap();
        let (result, report) = cast_like(&tensor, &like, &CastOptions::default()).unwrap();
        assert_eq!(result, like);
        assert!(!crate::cpu::isa::is_fast() || report.reason == "faster than copying to a GPU and back", "{report}");
    }
}

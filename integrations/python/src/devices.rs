//! Casts on a GPU.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use wgpu_cast::{CastSpec, Context, DeviceChoice, ElementType, Error, Tensor, cpu};

use crate::error::device_error;
use crate::work::item_size;

/// The context that all casts share. It is opened again after its device was lost.
static CONTEXT: Mutex<Option<Arc<Context>>> = Mutex::new(None);

/// The process that first used a GPU; 0 if none did. A fork copies this, but not the driver's threads.
static USED_BY: AtomicU32 = AtomicU32::new(0);

/// Checks that this process can use a GPU.
///
/// # Errors
/// `DeviceError` in the child of a process that has used one.
pub fn check(py: Python<'_>) -> PyResult<()> {
    let this = std::process::id();
    match USED_BY.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed) {
        Err(process) if process != this => {
            let message = "the process from which this one was forked has used a GPU: start this one by \"spawn\"";
            Err(device_error(py, message))
        }
        _ => Ok(()),
    }
}

fn context() -> Result<Arc<Context>, Error> {
    let mut context = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(open) = context.as_ref().filter(|context| !context.is_lost()) {
        return Ok(open.clone());
    }
    let open = Arc::new(pollster::block_on(Context::open(DeviceChoice::Gpu))?);
    *context = Some(open.clone());
    Ok(open)
}

/// Casts codes, one in each byte or in whole bytes, on a GPU.
pub fn cast(spec: &CastSpec, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
    let context = context()?;
    let elements = source.len() / item_size(spec.from);
    let mut packed = vec![0; packed_bytes(spec.from, elements)];
    cpu::pack_codes(spec.from, source, &mut packed)?;
    let tensor = Tensor::from_bytes(spec.from, [elements], packed)?;
    let (result, _) = pollster::block_on(context.cast(&tensor, spec.to, &spec.options))?;
    cpu::unpack_codes(spec.to, result.bytes().unwrap_or_default(), destination)
}

fn packed_bytes(element_type: ElementType, elements: usize) -> usize {
    element_type.packed_bytes(elements as u64).unwrap_or(0) as usize
}

/// An adapter: its name, backend, kind and driver, whether it is chosen, and why.
type Row = (String, String, String, String, bool, String);

/// The adapters of this machine.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Row>> {
    check(py)?;
    let adapters = py.detach(|| pollster::block_on(wgpu_cast::adapters()));
    let row = |a: wgpu_cast::AdapterSummary| {
        (a.name, a.backend.to_string(), format!("{:?}", a.device_type), a.driver, a.chosen, a.reason)
    };
    Ok(adapters.into_iter().map(row).collect())
}

//! Error scopes: every call of wgpu's that can fail runs in one, so that its error becomes this crate's and never
//! reaches the application's handlers. Polling does not run in one, because it calls the application's callbacks: their
//! errors belong to the application.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::conversion::Conversion;
use crate::error::Error;

/// Runs `work` on this thread and returns its result, or the first error that the device reported meanwhile.
///
/// A lost device reports nothing: see `device_link` for how its loss is noticed. In a browser errors arrive after this
/// function has returned, so no scope is opened there: the errors go to the application's own scope, or to the page's
/// console.
pub(crate) fn scoped<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    if cfg!(target_family = "wasm") {
        return Ok(work());
    }
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let result = work();
    let (validation, internal, memory) = (now(validation.pop()), now(internal.pop()), now(memory.pop()));
    match memory.or(validation).or(internal) {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// [`scoped`] for work that belongs to a cast: a device's error is returned as this crate's, with the element types.
/// `bytes` is how much memory the work asks for.
pub(crate) fn scoped_for<T>(
    conversion: &Conversion,
    bytes: u64,
    device: &wgpu::Device,
    work: impl FnOnce() -> T,
) -> Result<T, Error> {
    let (from, to) = (conversion.from, conversion.to);
    scoped(device, work).map_err(|error| match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { from, to, bytes },
        error => Error::Device { from, to, message: one_line(&error) },
    })
}

/// The value of a future that is ready, as a popped scope's is natively.
fn now(future: impl Future<Output = Option<wgpu::Error>>) -> Option<wgpu::Error> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(error) => error,
        Poll::Pending => None,
    }
}

/// A device's message on one line.
pub(crate) fn one_line(error: &impl std::fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

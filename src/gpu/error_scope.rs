//! Error scopes: every call that can fail runs in one, so that its error is this crate's and never the application's.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs `work` on this thread and returns its result, or the first error that the device reported meanwhile.
///
/// A lost device reports nothing: see `transfer` for how that is found out. In a browser errors come later than this
/// returns, so no scope is opened there: they go to the application's own scope, or to the page's console.
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

//! Error scopes: every call of wgpu that can fail runs in one. Its error becomes an error of this crate and never
//! reaches the application's handlers. Polling does not run in a scope, because it calls the application's callbacks,
//! and their errors belong to the application.
//!
//! In a browser errors arrive after the calls have returned, so only async functions can wait for them. They run their
//! calls in [`watched`], and ask the [`Verdict`] before they use the results.

use std::future::Future;
#[cfg(target_family = "wasm")]
use std::pin::Pin;
#[cfg(not(target_family = "wasm"))]
use std::pin::pin;
#[cfg(not(target_family = "wasm"))]
use std::task::{Context, Poll, Waker};

use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// The scopes of some calls: for the device's memory, for its internal errors, and for invalid calls.
struct Scopes([wgpu::ErrorScopeGuard; 3]);

impl Scopes {
    fn open(device: &wgpu::Device) -> Self {
        use wgpu::ErrorFilter::{Internal, OutOfMemory, Validation};
        Self([OutOfMemory, Internal, Validation].map(|filter| device.push_error_scope(filter)))
    }

    /// The errors that the scopes caught, in the order of the scopes.
    fn close(self) -> [impl Future<Output = Option<wgpu::Error>> + use<>; 3] {
        let [memory, internal, validation] = self.0;
        let (validation, internal, memory) = (validation.pop(), internal.pop(), memory.pop());
        [memory, internal, validation]
    }
}

/// Runs `work` on this thread and returns its result, or the first error that the device reported meanwhile.
///
/// A lost device reports nothing. `device_link` says how its loss is noticed.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn scoped<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    let scopes = Scopes::open(device);
    let result = work();
    let [memory, internal, validation] = scopes.close().map(now);
    match memory.or(validation).or(internal) {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Runs `work`. Its errors go to the scope of [`watched`]. Without one, they go to the application's own scope or to
/// the page's console.
#[cfg(target_family = "wasm")]
pub(crate) fn scoped<T>(_: &wgpu::Device, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    Ok(work())
}

/// Runs the calls of an async function. In a browser, the verdict gives the error that the device reports for them.
/// Elsewhere each call has a scope of its own.
pub(crate) fn watched<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> (T, Verdict) {
    #[cfg(target_family = "wasm")]
    {
        let scopes = Scopes::open(device);
        let result = work();
        (result, Verdict { popped: scopes.close().map(|popped| Box::pin(popped) as Popped) })
    }
    #[cfg(not(target_family = "wasm"))]
    {
        let _ = device;
        (work(), Verdict {})
    }
}

#[cfg(target_family = "wasm")]
type Popped = Pin<Box<dyn Future<Output = Option<wgpu::Error>>>>;

/// The device's later answer to calls.
#[must_use]
pub(crate) struct Verdict {
    /// In the order of [`Scopes`].
    #[cfg(target_family = "wasm")]
    popped: [Popped; 3],
}

impl Verdict {
    /// The device's error, once the device has processed the calls.
    pub(crate) async fn error(self) -> Option<wgpu::Error> {
        #[cfg(target_family = "wasm")]
        {
            let [memory, internal, validation] = self.popped;
            let (memory, internal, validation) = (memory.await, internal.await, validation.await);
            memory.or(validation).or(internal)
        }
        #[cfg(not(target_family = "wasm"))]
        None
    }

    /// [`error`](Self::error) as this crate's error, for work that belongs to a cast and asks for `bytes`: see
    /// [`scoped_for`].
    pub(crate) async fn error_for(self, conversion: &Conversion, bytes: u64) -> Option<Error> {
        self.error().await.map(|error| of_device(conversion, bytes, &error))
    }

    /// The result of the work. An error of the device replaces it.
    pub(crate) async fn with<T>(
        self,
        conversion: &Conversion,
        bytes: u64,
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        self.error_for(conversion, bytes).await.map_or(result, Err)
    }
}

impl std::fmt::Debug for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verdict").finish_non_exhaustive()
    }
}

/// [`scoped`] for work that belongs to a cast: a device's error is returned as this crate's, with the element types.
/// `bytes` is the memory that the work asks for.
pub(crate) fn scoped_for<T>(
    conversion: &Conversion,
    bytes: u64,
    device: &wgpu::Device,
    work: impl FnOnce() -> T,
) -> Result<T, Error> {
    scoped(device, work).map_err(|error| of_device(conversion, bytes, &error))
}

/// A device's error for a cast that asks for `bytes`.
pub(crate) fn of_device(conversion: &Conversion, bytes: u64, error: &wgpu::Error) -> Error {
    conversion.error(match error {
        wgpu::Error::OutOfMemory { .. } => CastFault::OutOfMemory { bytes },
        error => CastFault::Device { message: one_line(error) },
    })
}

/// The value of a future that is ready. A popped scope's future is, except in a browser.
#[cfg(not(target_family = "wasm"))]
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

#[cfg(test)]
mod tests {
    #[test]
    fn messages_of_several_lines_become_one() {
        assert_eq!(super::one_line(&"a\n  b  c\n"), "a b c");
    }
}

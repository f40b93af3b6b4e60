//! Errors for JavaScript. Their `name` says what went wrong, as the variants of `wgpu_cast::Error` do.

use std::fmt::Display;

use wasm_bindgen::JsValue;
use wgpu_cast::Error;

/// An error with this name.
pub fn error(name: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    error.set_name(name);
    error.into()
}

/// An error of a cast, named after its variant: `Kernel`, `OutOfMemory`, `DeviceLost`.
pub fn cast(cause: &Error) -> JsValue {
    error(name(cause), &cause.to_string())
}

/// The name of the variant, of those that can happen here.
fn name(cause: &Error) -> &'static str {
    match cause {
        Error::ByteLength { .. } => "ByteLength",
        Error::Device { .. } => "Device",
        Error::DeviceLost { .. } => "DeviceLost",
        Error::Incomplete { .. } => "Incomplete",
        Error::Kernel { .. } => "Kernel",
        Error::Limit { .. } => "Limit",
        Error::NoAdapter { .. } => "NoAdapter",
        Error::NoCodes { .. } => "NoCodes",
        Error::OutOfMemory { .. } => "OutOfMemory",
        Error::SelfTest { .. } => "SelfTest",
        Error::SelfTestOutside { .. } => "SelfTestOutside",
        Error::ShapeOverflow { .. } => "ShapeOverflow",
        Error::UnknownElementType { .. } => "UnknownElementType",
        Error::UnknownRoundMode { .. } => "UnknownRoundMode",
        _ => "CastError",
    }
}

/// An error about a file.
pub fn file(cause: impl Display) -> JsValue {
    error("FileError", &cause.to_string())
}

//! Errors for JavaScript. Their `name` says what went wrong, as the variants of `wgpu_cast::Error` and `wgpu_cast::CastFault` do.

use std::fmt::Display;

use wasm_bindgen::JsValue;
use wgpu_cast::{CastFault, Error};

/// An error with this name.
pub fn error(name: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    error.set_name(name);
    error.into()
}

/// An error of a cast, named after its cause: `Kernel`, `OutOfMemory`, `DeviceLost`.
pub fn cast(cause: &Error) -> JsValue {
    error(name(cause), &cause.to_string())
}

/// The name of what is wrong, of what can happen here.
fn name(cause: &Error) -> &'static str {
    match cause {
        Error::Cast { cause, .. } => match cause {
            CastFault::Device { .. } => "Device",
            CastFault::DeviceLost { .. } => "DeviceLost",
            CastFault::Incomplete => "Incomplete",
            CastFault::Kernel { .. } => "Kernel",
            CastFault::Limit { .. } => "Limit",
            CastFault::OutOfMemory { .. } => "OutOfMemory",
            CastFault::SelfTest { code: Some(_), .. } => "SelfTest",
            CastFault::SelfTest { code: None, .. } => "SelfTestOutside",
            _ => "CastError",
        },
        Error::ElementWidth { .. } => "NoCodes",
        Error::NoAdapter { .. } => "NoAdapter",
        Error::OutOfMemory { .. } => "OutOfMemory",
        Error::Shape { expected: None, .. } => "ShapeOverflow",
        Error::Shape { unit: "byte", .. } => "ByteLength",
        Error::UnknownName { kind: "element type", .. } => "UnknownElementType",
        Error::UnknownName { .. } => "UnknownRoundMode",
        _ => "CastError",
    }
}

/// An error about a file.
pub fn file(cause: impl Display) -> JsValue {
    error("FileError", &cause.to_string())
}

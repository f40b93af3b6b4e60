//! How to cast: the keyword arguments of `cast`.

use pyo3::prelude::*;
use wgpu_cast::onnx::CastNode;
use wgpu_cast::{CastOptions, ElementType, RoundMode};

use crate::devices;
use crate::error::{cast_error, from_core};

/// The keyword arguments, as `_cast.py` passes them on.
pub struct How {
    pub saturate: bool,
    pub round_mode: String,
    pub strict: bool,
    pub losses: bool,
    pub device: String,
    pub opset: Option<i64>,
}

impl How {
    /// Reads the tuple that `_cast.py` passes on.
    pub fn new(how: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (saturate, round_mode, strict, losses, device, opset) = how.extract()?;
        Ok(Self { saturate, round_mode, strict, losses, device, opset })
    }

    /// Whether to cast on a GPU.
    pub fn on_gpu(&self, py: Python<'_>) -> PyResult<bool> {
        match self.device.as_str() {
            "cpu" => Ok(false),
            "gpu" => devices::check(py).map(|()| true),
            other => Err(cast_error(py, format!("device must be \"cpu\" or \"gpu\", got {other:?}"))),
        }
    }

    /// The options of a cast, checked by the rules of the opset, if one is given.
    pub fn options(&self, py: Python<'_>, from: ElementType, to: ElementType) -> PyResult<CastOptions> {
        let options = options(py, self.saturate, &self.round_mode)?;
        let Some(opset) = self.opset else { return Ok(options) };
        // An attribute that has its default is left out, so that opsets without it accept the call.
        let saturate = (!self.saturate).then_some(false);
        let round_mode = (options.round_mode != RoundMode::Up).then_some(options.round_mode);
        let node = CastNode::with_target(opset, to, saturate, round_mode);
        let node = node.and_then(|node| node.check(from).map(|()| node));
        Ok(node.map_err(|error| from_core(py, &error))?.options())
    }
}

/// The options of a cast at the newest opset.
pub fn options(py: Python<'_>, saturate: bool, round_mode: &str) -> PyResult<CastOptions> {
    let round_mode = round_mode.parse::<RoundMode>().map_err(|error| from_core(py, &error))?;
    Ok(CastOptions::default().with_saturate(saturate).with_round_mode(round_mode))
}

//! How to cast: the keyword arguments of `cast`.

use pyo3::prelude::*;
use wgpu_cast::onnx::CastNode;
use wgpu_cast::{CastOptions, ElementType, RoundMode};

use crate::devices;
use crate::error::{cast_error, from_core};
use crate::names::of_code;

/// The keyword arguments, as `_cast.py` passes them on.
pub struct How {
    pub saturate: bool,
    pub round_mode: String,
    pub strict: bool,
    pub losses: bool,
    pub on_gpu: bool,
    pub opset: Option<i64>,
}

impl How {
    /// Reads the tuple that `_cast.py` passes on.
    pub fn new(how: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = how.py();
        let (saturate, round_mode, strict, losses, device, opset): (_, _, _, _, String, _) = how.extract()?;
        // Checked here, so that casts that do not ask where to cast, those of strings, refuse it too.
        if !matches!(device.as_str(), "cpu" | "gpu") {
            let message = format!("device must be \"cpu\" or \"gpu\", got {device:?}");
            return Err(cast_error(py, message));
        }
        Ok(Self { saturate, round_mode, strict, losses, on_gpu: device == "gpu", opset })
    }

    /// Whether to cast on a GPU, which this process can use then.
    pub fn on_gpu(&self, py: Python<'_>) -> PyResult<bool> {
        if self.on_gpu {
            devices::check(py)?;
        }
        Ok(self.on_gpu)
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

/// Checks the keyword arguments of a cast that needs none of them, such as one from strings to strings.
#[pyfunction]
pub fn check_options(from: i32, to: i32, how: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = how.py();
    How::new(how)?.options(py, of_code(py, from)?, of_code(py, to)?).map(drop)
}

/// The options of a cast at the newest opset.
pub fn options(py: Python<'_>, saturate: bool, round_mode: &str) -> PyResult<CastOptions> {
    let round_mode = round_mode.parse::<RoundMode>().map_err(|error| from_core(py, &error))?;
    Ok(CastOptions::default().with_saturate(saturate).with_round_mode(round_mode))
}

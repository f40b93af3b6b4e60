//! The rules of ONNX's operators.

use pyo3::prelude::*;
use wgpu_cast::ElementType;
use wgpu_cast::onnx::{Attribute, CastLikeNode, CastNode};

use crate::error::{cast_error, from_core};

/// Reads a node of `Cast`, or with `like` of `CastLike`, by the rules of an opset: from the names, types and values of its
/// attributes, and the ONNX numbers of its inputs' element types. Returns the ONNX number of the target, `saturate` and `round_mode`.
#[pyfunction]
pub fn read_node(
    py: Python<'_>,
    opset: i64,
    attributes: &Bound<'_, PyAny>,
    source: i32,
    like: Option<i32>,
) -> PyResult<(i32, bool, &'static str)> {
    let attributes: Vec<(String, String, Bound<'_, PyAny>)> = attributes.extract()?;
    let read = attributes.iter().map(|(name, kind, value)| {
        let value = match kind.as_str() {
            "INT" => Attribute::Int(value.extract()?),
            "STRING" => Attribute::String(value.extract()?),
            other => Attribute::Other(other),
        };
        Ok((name.as_str(), value))
    });
    let attributes = read.collect::<PyResult<Vec<_>>>()?;
    let numbered = |number| ElementType::from_onnx_code(number).ok_or_else(|| cast_error(py, "no element type"));
    let source = numbered(source)?;
    let read = match like.map(numbered).transpose()? {
        None => {
            CastNode::new(opset, attributes).and_then(|node| node.check(source).map(|()| (node.to(), node.options())))
        }
        Some(like) => CastLikeNode::new(opset, attributes)
            .and_then(|node| node.check(source, like).map(|()| (like, node.options()))),
    };
    let (to, options) = read.map_err(|error| from_core(py, &error))?;
    Ok((to.onnx_code(), options.saturate, options.round_mode.name()))
}

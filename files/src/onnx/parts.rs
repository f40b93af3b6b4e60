//! The small messages of a model.

use std::borrow::Cow;
use std::ops::Range;

use super::fields::{opset, tensor_type, value, value_type};
use super::node::is_default;
use crate::input::ReadAt;
use crate::wire::{Fields, Value, WireError};

/// The opset that an `OperatorSetIdProto` imports; `None` if it is of another domain than the default one.
pub(crate) fn opset_import(input: &dyn ReadAt, range: Range<u64>) -> Result<Option<i64>, WireError> {
    let (mut is_of_default, mut version) = (true, 0);
    for field in Fields::new(input, &opset::KIND, range) {
        let field = field?;
        match field.number {
            opset::DOMAIN => is_of_default = is_default(&field.text(input)?),
            opset::VERSION => version = field.number() as i64,
            _ => {}
        }
    }
    Ok(Some(version).filter(|_| is_of_default))
}

/// A `ValueInfoProto`.
pub(crate) struct ValueInfo<'a> {
    pub name: Cow<'a, str>,
    /// `None` if no type is given.
    pub kind: Option<ValueKind>,
    /// The bytes of the shape.
    pub shape: Option<Range<u64>>,
}

/// What a `TypeProto` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A tensor, by its `TensorProto.DataType`.
    Tensor(i32),
    /// A sequence, an optional, a map or a sparse tensor.
    Other,
    /// The `TypeProto` is empty.
    Unknown,
}

pub(crate) fn value_info(input: &dyn ReadAt, range: Range<u64>) -> Result<ValueInfo<'_>, WireError> {
    let mut found = ValueInfo { name: Cow::Borrowed(""), kind: None, shape: None };
    for field in Fields::new(input, &value::KIND, range) {
        let field = field?;
        match field.number {
            value::NAME => found.name = field.text(input)?,
            value::TYPE => (found.kind, found.shape) = value_type(input, field.bytes())?,
            _ => {}
        }
    }
    Ok(found)
}

/// What a `TypeProto` says, and the bytes of a tensor's shape.
fn value_type(input: &dyn ReadAt, range: Range<u64>) -> Result<(Option<ValueKind>, Option<Range<u64>>), WireError> {
    let (mut kind, mut shape) = (ValueKind::Unknown, None);
    for field in Fields::new(input, &value_type::KIND, range) {
        let field = field?;
        let Value::Bytes(content) = &field.value else { continue };
        if field.number == value_type::DENOTATION {
            continue;
        }
        // The other fields are a `oneof`: a message can have one of them.
        if kind != ValueKind::Unknown {
            return Err(WireError::Repeated { field: field.number });
        }
        kind = ValueKind::Other;
        if field.number == value_type::TENSOR {
            let mut code = 0;
            for field in Fields::new(input, &tensor_type::KIND, content.clone()) {
                let field = field?;
                match field.number {
                    tensor_type::ELEM_TYPE => code = field.number() as i32,
                    tensor_type::SHAPE => shape = Some(field.bytes()),
                    _ => {}
                }
            }
            kind = ValueKind::Tensor(code);
        }
    }
    Ok((Some(kind), shape))
}

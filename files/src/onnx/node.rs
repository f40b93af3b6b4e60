//! The four operators that a model of casts is made of.

use bytes::Bytes;
use wgpu_cast::onnx::{Attribute, CastLikeNode, CastNode};
use wgpu_cast::{ElementType, Error, Tensor};

use super::external::ExternalFiles;
use super::memory::parse_message;
use super::proto::{AttributeProto, KINDS, NodeProto, TensorProto};
use super::tensor::{self, texts};
use crate::onnx::{MessageError, ModelFault};

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    Cast(CastNode),
    CastLike(CastLikeNode),
    Identity,
}

/// An operation, or the value of a `Constant`.
#[derive(Debug)]
pub(super) enum NodeContent {
    Operation(Operation),
    Constant(Box<Constant>),
}

/// What a `Constant` node holds. Its data is not read yet.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) element_type: ElementType,
    attribute: AttributeProto,
}

/// The most attributes that a cast of any version has: `to`, `saturate` and `round_mode`.
const MOST_ATTRIBUTES: usize = 3;

/// The first opset at which a `Constant` may hold numbers or strings instead of a tensor.
const CONSTANTS_OF_NUMBERS: i64 = 12;

/// The names of the operators, and how many inputs each has.
const OPERATORS: [(&str, usize); 4] = [("Cast", 1), ("CastLike", 2), ("Identity", 1), ("Constant", 0)];

pub(super) fn is_supported(operator: &str) -> bool {
    OPERATORS.iter().any(|(name, _)| *name == operator)
}

/// Whether this is ONNX's own domain, which has two names.
pub(super) fn is_default(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

impl Operation {
    /// ONNX's name of the operator.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Operation::Cast(_) => "Cast",
            Operation::CastLike(_) => "CastLike",
            Operation::Identity => "Identity",
        }
    }

    /// The type of its output, by the types of its first input and of its last.
    ///
    /// # Errors
    /// [`Error::TypeNotInOpset`].
    pub(super) fn target(&self, first: ElementType, last: ElementType) -> Result<ElementType, Error> {
        match self {
            Operation::Cast(node) => node.check(first).map(|()| node.to()),
            Operation::CastLike(node) => node.check(first, last).map(|()| last),
            Operation::Identity => Ok(first),
        }
    }

    /// The attributes of a node that means this.
    pub(super) fn attributes(&self) -> Vec<AttributeProto> {
        let mut attributes = Vec::new();
        let mut add = |name: &str, value: Attribute<'_>| {
            let (i, s) = match value {
                Attribute::Int(i) => (Some(i), None),
                Attribute::String(s) => (None, Some(Bytes::copy_from_slice(s.as_bytes()))),
                _ => (None, None),
            };
            let kind = KINDS.iter().position(|kind| *kind == value.kind()).unwrap_or(0) as i32;
            let name = name.to_owned();
            attributes.push(AttributeProto { name, i, s, kind, ..AttributeProto::default() });
        };
        match self {
            Operation::Cast(node) => node.visit_attributes(&mut add),
            Operation::CastLike(node) => node.visit_attributes(&mut add),
            Operation::Identity => {}
        }
        attributes
    }
}

impl NodeContent {
    pub(super) fn read(node: &NodeProto, opset: i64) -> Result<Self, MessageError> {
        let operator = node.op_type.as_str();
        let known = OPERATORS.iter().find(|(name, _)| is_default(&node.domain) && *name == operator);
        let Some(&(_, expected)) = known else {
            let domain = if is_default(&node.domain) { String::new() } else { format!("{}::", node.domain) };
            let supported = &const { [OPERATORS[0].0, OPERATORS[1].0, OPERATORS[2].0, OPERATORS[3].0] };
            return Err(ModelFault::Operator { operator: domain + operator, supported }.into());
        };
        let found = node.input.len();
        if found != expected {
            return Err(ModelFault::Arity { what: "inputs", expected, found }.into());
        }
        if operator == "Constant" && node.attribute.len() != 1 {
            return Err(ModelFault::ConstantValue { found: node.attribute.len() }.into());
        }
        // At most one attribute more than any version has is decoded. It is refused like any unknown attribute, and a
        // hostile node cannot make the reader decode millions.
        let attributes =
            node.attribute.iter().take(MOST_ATTRIBUTES + 1).map(|bytes| parse_message(bytes.clone(), "AttributeProto"));
        let mut attributes = attributes.collect::<Result<Vec<AttributeProto>, _>>()?;
        let operation = match operator {
            "Cast" => Operation::Cast(CastNode::new(opset, attributes.iter().map(plain))?),
            "CastLike" => Operation::CastLike(CastLikeNode::new(opset, attributes.iter().map(plain))?),
            "Identity" => attributes.first().map_or(Ok(Operation::Identity), |attribute| Err(unknown(attribute)))?,
            _ => {
                let constant = Constant::new(attributes.swap_remove(0), opset)?;
                return Ok(NodeContent::Constant(Box::new(constant)));
            }
        };
        Ok(NodeContent::Operation(operation))
    }
}

fn kind(attribute: &AttributeProto) -> &'static str {
    // References to attributes are only allowed in functions, and the model has none.
    if !attribute.ref_attr_name.is_empty() {
        return "reference";
    }
    let named = usize::try_from(attribute.kind).ok().and_then(|kind| KINDS.get(kind).copied()).unwrap_or("unknown");
    if named != "UNDEFINED" {
        return named;
    }
    // The first version of the format did not name the kind. It is then the kind of the only field that is given.
    let given = [
        (attribute.i.is_some(), "INT"),
        (attribute.s.is_some(), "STRING"),
        (attribute.f.is_some(), "FLOAT"),
        (attribute.t.is_some(), "TENSOR"),
    ];
    let mut given = given.into_iter().filter_map(|(given, kind)| given.then_some(kind));
    match (given.next(), given.next()) {
        (Some(kind), None) => kind,
        _ => named,
    }
}

/// An attribute as [`CastNode::new`] takes it.
fn plain(attribute: &AttributeProto) -> (&str, Attribute<'_>) {
    let value = match kind(attribute) {
        "INT" => Attribute::Int(attribute.i.unwrap_or_default()),
        "STRING" => {
            let bytes = attribute.s.as_deref().unwrap_or_default();
            std::str::from_utf8(bytes).map_or(Attribute::Other("bytes"), Attribute::String)
        }
        kind => Attribute::Other(kind),
    };
    (&attribute.name, value)
}

fn unknown(attribute: &AttributeProto) -> MessageError {
    let (attribute, kind) = (attribute.name.clone(), kind(attribute).to_owned());
    ModelFault::Attribute { attribute, kind }.into()
}

impl Constant {
    /// The only attribute of a `Constant` (ONNX `Constant` 1 to 25).
    fn new(attribute: AttributeProto, opset: i64) -> Result<Self, MessageError> {
        if attribute.name != "value" && opset < CONSTANTS_OF_NUMBERS {
            return Err(unknown(&attribute));
        }
        let element_type = match (attribute.name.as_str(), kind(&attribute)) {
            ("value", "TENSOR") => tensor::element_type(attribute.t.as_ref().unwrap_or(&TensorProto::default()))?,
            ("value_float", "FLOAT") | ("value_floats", "FLOATS") => ElementType::FLOAT,
            ("value_int", "INT") | ("value_ints", "INTS") => ElementType::INT64,
            ("value_string", "STRING") | ("value_strings", "STRINGS") => ElementType::STRING,
            _ => return Err(unknown(&attribute)),
        };
        Ok(Self { element_type, attribute })
    }

    /// The value.
    pub(super) fn read(self, files: &mut ExternalFiles<'_>) -> Result<Tensor, MessageError> {
        let Self { attribute, .. } = self;
        match attribute.name.as_str() {
            "value" => tensor::read(&attribute.t.unwrap_or_default(), files),
            "value_float" => Ok(Tensor::from_slice([], &[attribute.f.unwrap_or_default()])?),
            "value_floats" => codes(ElementType::FLOAT, attribute.floats.iter().map(|float| float.to_bits().into())),
            "value_int" => Ok(Tensor::from_slice([], &[attribute.i.unwrap_or_default()])?),
            "value_ints" => codes(ElementType::INT64, attribute.ints.iter().map(|&int| int as u64)),
            "value_string" => strings(vec![], &[attribute.s.unwrap_or_default()]),
            _ => strings(vec![attribute.strings.len()], &attribute.strings),
        }
    }
}

fn codes(element_type: ElementType, codes: impl ExactSizeIterator<Item = u64>) -> Result<Tensor, MessageError> {
    Ok(Tensor::from_codes(element_type, [codes.len()], codes)?)
}

fn strings(shape: Vec<usize>, strings: &[Bytes]) -> Result<Tensor, MessageError> {
    texts(shape, strings).map_err(|fault| MessageError::Tensor { name: String::new(), fault })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::FLOAT;
    use prost::Message;
    use wgpu_cast::onnx::NEWEST_OPSET;

    fn node(operator: &str, attributes: &[AttributeProto]) -> NodeProto {
        let inputs = if operator == "Cast" { 1 } else { 2 };
        let attribute = attributes.iter().map(|attribute| attribute.encode_to_vec().into()).collect();
        let input = vec!["x".to_owned(); inputs];
        NodeProto { op_type: operator.to_owned(), input, attribute, ..NodeProto::default() }
    }

    /// Every attribute that a version has is written and read, and one more is refused, not dropped.
    #[test]
    fn no_attribute_is_dropped() {
        for opset in 1..=NEWEST_OPSET {
            let cast = CastNode::with_target(opset, FLOAT, None, None).unwrap();
            let like = CastLikeNode::new(opset, []).ok().map(Operation::CastLike);
            for operation in [Some(Operation::Cast(cast)), like].into_iter().flatten() {
                let mut attributes = operation.attributes();
                let targets = usize::from(matches!(operation, Operation::Cast(_)));
                let others = [19, 24].iter().filter(|since| opset >= **since).count();
                assert_eq!(attributes.len(), targets + others, "{operation:?}");
                assert!(attributes.len() <= MOST_ATTRIBUTES, "{operation:?}");
                // INT or STRING.
                assert!(attributes.iter().all(|a| a.kind == if a.i.is_some() { 2 } else { 3 }), "{operation:?}");
                let whole = NodeContent::read(&node(operation.name(), &attributes), opset).unwrap();
                assert!(matches!(whole, NodeContent::Operation(read) if read == operation), "{operation:?}");
                attributes.push(AttributeProto { name: "more".to_owned(), i: Some(1), kind: 2, ..Default::default() });
                let error = NodeContent::read(&node(operation.name(), &attributes), opset).map(drop).unwrap_err();
                assert!(
                    matches!(&error, MessageError::Cast(Error::UnknownAttribute { attribute, .. }) if attribute == "more"),
                    "{error}"
                );
            }
        }
    }
}

//! Nodes of the four operators that a model of casts can have.

use std::borrow::Cow;
use std::ops::Range;

use wgpu_cast::onnx::{Attribute, CastLikeNode, CastNode};
use wgpu_cast::{ElementType, Error, Tensor};

use super::external::ExternalFiles;
use super::fields::{ATTRIBUTE_TYPES, attribute, attribute_type, node};
use super::header::TensorHeader;
use super::tensor::{codes, count, is, of_strings};
use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::wire::{Fields, Kind, Numbers, WireError, put_bytes, put_number, view_bytes};

/// A `NodeProto`.
pub(super) struct NodeMessage<'a> {
    name: Cow<'a, str>,
    operator: Cow<'a, str>,
    domain: Cow<'a, str>,
    pub inputs: Vec<Cow<'a, str>>,
    pub outputs: Vec<Cow<'a, str>>,
    /// The bytes of the first attributes, at most [`MOST_ATTRIBUTES`] and one more. The one more is refused like any unknown
    /// attribute. A hostile node cannot make the reader decode millions of them.
    attributes: Vec<Range<u64>>,
    /// The number of all attributes.
    found: usize,
}

/// What a node does to its input.
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
    Constant(Constant),
}

/// The value of a `Constant` node, whose data is not read yet.
#[derive(Debug)]
pub(super) struct Constant {
    pub element_type: ElementType,
    /// The bytes of the attribute.
    attribute: Range<u64>,
}

/// The most attributes that a cast of any version has: `to`, `saturate` and `round_mode`.
const MOST_ATTRIBUTES: usize = 3;

/// The first opset at which a `Constant` may hold numbers or strings instead of a tensor.
const CONSTANTS_OF_NUMBERS: i64 = 12;

/// The names of the operators, and the number of inputs of each.
const OPERATORS: [(&str, usize); 4] = [("Cast", 1), ("CastLike", 2), ("Identity", 1), ("Constant", 0)];

pub(super) fn is_supported(operator: &str) -> bool {
    OPERATORS.iter().any(|(name, _)| *name == operator)
}

/// Whether this names ONNX's default domain, which has two names.
pub(crate) fn is_default(domain: &str) -> bool {
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

    /// The type of the output. `first` and `last` are the types of the first input and of the last one.
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

    /// Appends the attributes that a node of this operation has.
    pub(super) fn put_attributes(&self, out: &mut Vec<u8>) {
        let mut add = |name: &str, value: Attribute<'_>| put_attribute(out, name, value);
        match self {
            Operation::Cast(node) => node.visit_attributes(&mut add),
            Operation::CastLike(node) => node.visit_attributes(&mut add),
            Operation::Identity => {}
        }
    }
}

/// Appends an attribute to a node: an integer or a string.
pub(crate) fn put_attribute(out: &mut Vec<u8>, name: &str, value: Attribute<'_>) {
    let mut message = Vec::new();
    put_bytes(&mut message, attribute::NAME, name.as_bytes());
    match value {
        Attribute::Int(int) => put_number(&mut message, attribute::I, int as u64),
        Attribute::String(string) => put_bytes(&mut message, attribute::S, string.as_bytes()),
        _ => {}
    }
    put_number(&mut message, attribute::TYPE, attribute_type(value.kind()));
    put_bytes(out, node::ATTRIBUTE, &message);
}

/// Makes the error for a message of this kind.
pub(super) fn invalid(kind: &'static Kind) -> impl Fn(WireError) -> FileError {
    |error| FileError::from(error).in_format(kind.name)
}

impl<'a> NodeMessage<'a> {
    pub(super) fn read(input: &'a dyn ReadAt, range: Range<u64>) -> Result<Self, WireError> {
        let [name, operator, domain] = [const { Cow::Borrowed("") }; 3];
        let (inputs, outputs, attributes) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = Self { name, operator, domain, inputs, outputs, attributes, found: 0 };
        for field in Fields::new(input, &node::KIND, range) {
            let field = field?;
            match field.number {
                node::INPUT => read.inputs.push(field.text(input)?),
                node::OUTPUT => read.outputs.push(field.text(input)?),
                node::NAME => read.name = field.text(input)?,
                node::OP_TYPE => read.operator = field.text(input)?,
                node::DOMAIN => read.domain = field.text(input)?,
                node::ATTRIBUTE => {
                    read.found += 1;
                    if read.found <= MOST_ATTRIBUTES + 1 {
                        read.attributes.push(field.bytes());
                    }
                }
                _ => {}
            }
        }
        Ok(read)
    }

    /// The node's name, or else the name of its first output, or else its operator.
    pub(super) fn name(&self) -> &str {
        let names = [&self.name, self.outputs.first().unwrap_or(&self.operator)];
        names.into_iter().find(|name| !name.is_empty()).unwrap_or(&self.operator)
    }
}

/// An `AttributeProto`.
struct AttributeMessage<'a> {
    name: Cow<'a, str>,
    range: Range<u64>,
    float: Option<u32>,
    int: Option<i64>,
    string: Option<Cow<'a, [u8]>>,
    tensor: Option<Range<u64>>,
    kind: i32,
    is_reference: bool,
}

impl<'a> AttributeMessage<'a> {
    fn read(input: &'a dyn ReadAt, range: Range<u64>) -> Result<Self, FileError> {
        Self::read_fields(input, range).map_err(invalid(&attribute::KIND))
    }

    fn read_fields(input: &'a dyn ReadAt, range: Range<u64>) -> Result<Self, WireError> {
        let (name, fields) = (Cow::Borrowed(""), Fields::new(input, &attribute::KIND, range.clone()));
        let (float, int, string, tensor) = (None, None, None, None);
        let mut read = Self { name, range, float, int, string, tensor, kind: 0, is_reference: false };
        for field in fields {
            let field = field?;
            match field.number {
                attribute::NAME => read.name = field.text(input)?,
                attribute::F => read.float = Some(field.number() as u32),
                attribute::I => read.int = Some(field.number() as i64),
                attribute::S => read.string = Some(view_bytes(input, &field.bytes(), u64::MAX)?),
                attribute::T => read.tensor = Some(field.bytes()),
                attribute::TYPE => read.kind = field.number() as i32,
                attribute::REF_ATTR_NAME => read.is_reference = !field.bytes().is_empty(),
                _ => {}
            }
        }
        Ok(read)
    }

    fn kind(&self) -> &'static str {
        // References to attributes are only allowed in functions, and the nodes of functions are not read.
        if self.is_reference {
            return "reference";
        }
        let named = usize::try_from(self.kind).ok().and_then(|kind| ATTRIBUTE_TYPES.get(kind).copied());
        let named = named.unwrap_or("unknown");
        if named != "UNDEFINED" {
            return named;
        }
        // The first version of the format had no field for the type. The type is then that of the only value that is given.
        let given = [
            (self.int.is_some(), "INT"),
            (self.string.is_some(), "STRING"),
            (self.float.is_some(), "FLOAT"),
            (self.tensor.is_some(), "TENSOR"),
        ];
        let mut given = given.into_iter().filter_map(|(given, kind)| given.then_some(kind));
        match (given.next(), given.next()) {
            (Some(kind), None) => kind,
            _ => named,
        }
    }

    /// The attribute as [`CastNode::new`] takes it.
    fn plain(&self) -> (&str, Attribute<'_>) {
        let value = match self.kind() {
            "INT" => Attribute::Int(self.int.unwrap_or_default()),
            "STRING" => {
                let bytes = self.string.as_deref().unwrap_or_default();
                std::str::from_utf8(bytes).map_or(Attribute::Other("bytes"), Attribute::String)
            }
            kind => Attribute::Other(kind),
        };
        (&self.name, value)
    }

    fn unknown(&self) -> FileError {
        let (attribute, kind) = (self.name.clone().into_owned(), self.kind());
        ModelFault::Attribute { attribute, kind }.into()
    }

    /// The header of the attribute's tensor. Without one, it is that of an empty message.
    fn tensor(&self, input: &dyn ReadAt) -> Result<TensorHeader, FileError> {
        TensorHeader::read(input, self.tensor.clone().unwrap_or(0..0))
    }
}

impl NodeContent {
    pub(super) fn read(input: &dyn ReadAt, node: &NodeMessage<'_>, opset: i64) -> Result<Self, FileError> {
        let operator = node.operator.as_ref();
        let known = OPERATORS.iter().find(|(name, _)| is_default(&node.domain) && *name == operator);
        let Some(&(_, expected)) = known else {
            let domain = if is_default(&node.domain) { String::new() } else { format!("{}::", node.domain) };
            let supported = &const { [OPERATORS[0].0, OPERATORS[1].0, OPERATORS[2].0, OPERATORS[3].0] };
            return Err(ModelFault::Operator { operator: domain + operator, supported }.into());
        };
        let found = node.inputs.len();
        if found != expected {
            return Err(ModelFault::Arity { what: "inputs", expected, found }.into());
        }
        if operator == "Constant" && node.found != 1 {
            return Err(ModelFault::ConstantValue { found: node.found }.into());
        }
        let attributes = node.attributes.iter().map(|range| AttributeMessage::read(input, range.clone()));
        let attributes = attributes.collect::<Result<Vec<_>, _>>()?;
        let plain = || attributes.iter().map(AttributeMessage::plain);
        let operation = match (operator, attributes.first()) {
            ("Cast", _) => Operation::Cast(CastNode::new(opset, plain())?),
            ("CastLike", _) => Operation::CastLike(CastLikeNode::new(opset, plain())?),
            ("Identity", None) => Operation::Identity,
            ("Identity", Some(attribute)) => return Err(attribute.unknown()),
            (_, Some(attribute)) => return Constant::new(input, attribute, opset).map(NodeContent::Constant),
            (_, None) => return Err(ModelFault::ConstantValue { found: 0 }.into()),
        };
        Ok(NodeContent::Operation(operation))
    }
}

impl Constant {
    /// Reads the only attribute of a `Constant` node. The names of attributes are those of ONNX's `Constant` 1 to 25.
    fn new(input: &dyn ReadAt, attribute: &AttributeMessage<'_>, opset: i64) -> Result<Self, FileError> {
        if attribute.name != "value" && opset < CONSTANTS_OF_NUMBERS {
            return Err(attribute.unknown());
        }
        let element_type = match (attribute.name.as_ref(), attribute.kind()) {
            ("value", "TENSOR") => attribute.tensor(input)?.checked_type(input)?,
            ("value_float", "FLOAT") | ("value_floats", "FLOATS") => ElementType::FLOAT,
            ("value_int", "INT") | ("value_ints", "INTS") => ElementType::INT64,
            ("value_string", "STRING") | ("value_strings", "STRINGS") => ElementType::STRING,
            _ => return Err(attribute.unknown()),
        };
        Ok(Self { element_type, attribute: attribute.range.clone() })
    }

    /// Reads the value.
    pub(super) fn read(&self, input: &dyn ReadAt, files: &mut ExternalFiles<'_>) -> Result<Tensor, FileError> {
        let attribute = AttributeMessage::read(input, self.attribute.clone())?;
        let fields = || Fields::new(input, &attribute::KIND, self.attribute.clone());
        match attribute.name.as_ref() {
            "value" => Ok(attribute.tensor(input)?.tensor(input, files)?),
            "value_float" => Ok(Tensor::from_codes(ElementType::FLOAT, [], [attribute.float.unwrap_or(0).into()])?),
            "value_floats" => self.list(input, attribute::FLOATS),
            "value_int" => Ok(Tensor::from_slice([], &[attribute.int.unwrap_or(0)])?),
            "value_ints" => self.list(input, attribute::INTS),
            "value_string" if attribute.string.is_none() => Ok(Tensor::from_strings([], [""])?),
            "value_string" => Ok(of_strings(input, fields(), attribute::S, ("", vec![]))?),
            _ => {
                let strings = count(fields().filter(is(attribute::STRINGS))).map_err(invalid(&attribute::KIND))?;
                Ok(of_strings(input, fields(), attribute::STRINGS, ("", vec![strings as usize]))?)
            }
        }
    }

    /// A tensor of one axis, of the numbers in a list.
    fn list(&self, input: &dyn ReadAt, field: u32) -> Result<Tensor, FileError> {
        let invalid = invalid(&attribute::KIND);
        let numbers = || Numbers::new(input, &attribute::KIND, self.attribute.clone(), field);
        let (count, mut numbers, mut failed) = (count(numbers()).map_err(&invalid)?, numbers(), None);
        let codes = codes(&mut numbers, count, |_, number| Ok(number), &mut failed);
        let tensor = Tensor::from_codes(self.element_type, [count as usize], codes);
        failed.map_or_else(|| Ok(tensor?), |error| Err(invalid(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FileCause;
    use ElementType::FLOAT;
    use wgpu_cast::onnx::NEWEST_OPSET;

    /// Reads a node. `attributes` are its fields with attributes.
    fn read(operator: &str, attributes: &[u8], opset: i64) -> Result<NodeContent, FileError> {
        let mut bytes = Vec::new();
        let inputs = if operator == "Cast" { 1 } else { 2 };
        (0..inputs).for_each(|_| put_bytes(&mut bytes, node::INPUT, b"x"));
        put_bytes(&mut bytes, node::OP_TYPE, operator.as_bytes());
        bytes.extend(attributes);
        NodeContent::read(&bytes, &NodeMessage::read(&bytes, 0..bytes.len() as u64).unwrap(), opset)
    }

    /// Every attribute that a version has is written and read, and one more is refused, not dropped.
    #[test]
    fn no_attribute_is_dropped() {
        for opset in 1..=NEWEST_OPSET {
            let cast = CastNode::with_target(opset, FLOAT, None, None).unwrap();
            let like = CastLikeNode::new(opset, []).ok().map(Operation::CastLike);
            for operation in [Some(Operation::Cast(cast)), like].into_iter().flatten() {
                let mut attributes = Vec::new();
                operation.put_attributes(&mut attributes);
                let written = Fields::new(&attributes, &node::KIND, 0..attributes.len() as u64);
                let written: Vec<_> = written
                    .map(|field| AttributeMessage::read(&attributes, field.unwrap().bytes()).unwrap())
                    .map(|attribute| (attribute.kind(), attribute.int.is_some(), attribute.string.is_some()))
                    .collect();
                let targets = usize::from(matches!(operation, Operation::Cast(_)));
                let others = [19, 24].iter().filter(|since| opset >= **since).count();
                assert_eq!(written.len(), targets + others, "{operation:?}");
                assert!(written.len() <= MOST_ATTRIBUTES, "{operation:?}");
                let kinds = [("INT", true, false), ("STRING", false, true)];
                assert!(written.iter().all(|attribute| kinds.contains(attribute)), "{operation:?}");
                let whole = read(operation.name(), &attributes, opset).unwrap();
                assert!(matches!(whole, NodeContent::Operation(read) if read == operation), "{operation:?}");
                put_attribute(&mut attributes, "more", Attribute::Int(1));
                let error = read(operation.name(), &attributes, opset).map(drop).unwrap_err();
                assert!(
                    matches!(error.cause(), FileCause::Cast(Error::UnknownAttribute { attribute, .. }) if attribute == "more"),
                    "{error}"
                );
            }
        }
    }
}

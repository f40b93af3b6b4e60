//! The messages of ONNX, by `onnx.proto` of onnx 1.23: every field that is read or written, with its number and form. Other
//! fields are skipped, or copied as they are.

use crate::wire::{Form, Kind};

/// Makes a module for each message. It has a constant for the number of each field, and the message as a [`Kind`].
macro_rules! messages {
    ($($(#[$doc:meta])* $module:ident $name:literal { $($field:ident = $number:literal $form:ident,)* })*) => {
        $($(#[$doc])* pub(crate) mod $module {
            use super::*;
            $(pub(crate) const $field: u32 = $number;)*
            pub(crate) static KIND: Kind = Kind::new($name, &[$(($field, Form::$form)),*]);
        })*
    };
}

messages! {
    model "ModelProto" {
        IR_VERSION = 1 Number,
        PRODUCER_NAME = 2 Bytes,
        GRAPH = 7 Bytes,
        OPSET_IMPORT = 8 List,
        TRAINING_INFO = 20 List,
        FUNCTIONS = 25 List,
    }
    opset "OperatorSetIdProto" {
        DOMAIN = 1 Bytes,
        VERSION = 2 Number,
    }
    function "FunctionProto" {
        NAME = 1 Bytes,
        NODE = 7 List,
        OPSET_IMPORT = 9 List,
        DOMAIN = 10 Bytes,
    }
    graph "GraphProto" {
        NODE = 1 List,
        NAME = 2 Bytes,
        INITIALIZER = 5 List,
        INPUT = 11 List,
        OUTPUT = 12 List,
        VALUE_INFO = 13 List,
        SPARSE_INITIALIZER = 15 List,
    }
    node "NodeProto" {
        INPUT = 1 List,
        OUTPUT = 2 List,
        NAME = 3 Bytes,
        OP_TYPE = 4 Bytes,
        ATTRIBUTE = 5 List,
        DOMAIN = 7 Bytes,
    }
    attribute "AttributeProto" {
        NAME = 1 Bytes,
        F = 2 Float,
        I = 3 Number,
        S = 4 Bytes,
        T = 5 Bytes,
        G = 6 Bytes,
        FLOATS = 7 Floats,
        INTS = 8 Numbers,
        STRINGS = 9 List,
        TENSORS = 10 List,
        GRAPHS = 11 List,
        TYPE = 20 Number,
        REF_ATTR_NAME = 21 Bytes,
        SPARSE_TENSOR = 22 Bytes,
        SPARSE_TENSORS = 23 List,
    }
    value "ValueInfoProto" {
        NAME = 1 Bytes,
        TYPE = 2 Bytes,
    }
    /// A `TypeProto` has one field for its kind of value. The kinds that are not named here are not tensors.
    value_type "TypeProto" {
        TENSOR = 1 Bytes,
        DENOTATION = 6 Bytes,
    }
    /// `TypeProto.Tensor`.
    tensor_type "TypeProto.Tensor" {
        ELEM_TYPE = 1 Number,
        SHAPE = 2 Bytes,
    }
    sparse "SparseTensorProto" {
        VALUES = 1 Bytes,
        INDICES = 2 Bytes,
    }
    tensor "TensorProto" {
        DIMS = 1 Numbers,
        DATA_TYPE = 2 Number,
        SEGMENT = 3 Bytes,
        FLOAT_DATA = 4 Floats,
        INT32_DATA = 5 Numbers,
        STRING_DATA = 6 List,
        INT64_DATA = 7 Numbers,
        NAME = 8 Bytes,
        RAW_DATA = 9 Bytes,
        DOUBLE_DATA = 10 Doubles,
        UINT64_DATA = 11 Numbers,
        EXTERNAL_DATA = 13 List,
        DATA_LOCATION = 14 Number,
    }
    /// An entry of `external_data`.
    entry "StringStringEntryProto" {
        KEY = 1 Bytes,
        VALUE = 2 Bytes,
    }
}

/// The fields of `TensorShapeProto` and of `TensorShapeProto.Dimension`, which are only written.
pub(crate) mod shape {
    pub(crate) const DIM: u32 = 1;
    pub(crate) const DIM_VALUE: u32 = 1;
}

/// The fields of a tensor that hold data. An error about two of them names them in this order.
pub(crate) const DATA: [(u32, &str); 8] = [
    (tensor::EXTERNAL_DATA, "external_data"),
    (tensor::RAW_DATA, "raw_data"),
    (tensor::FLOAT_DATA, "float_data"),
    (tensor::INT32_DATA, "int32_data"),
    (tensor::STRING_DATA, "string_data"),
    (tensor::INT64_DATA, "int64_data"),
    (tensor::DOUBLE_DATA, "double_data"),
    (tensor::UINT64_DATA, "uint64_data"),
];

/// `TensorProto.DataLocation.EXTERNAL`: the data is not in the file of the message.
pub(crate) const EXTERNAL: i32 = 1;

/// The names of `AttributeProto.AttributeType`, by their numbers.
pub(crate) const ATTRIBUTE_TYPES: [&str; 15] = [
    "UNDEFINED",
    "FLOAT",
    "INT",
    "STRING",
    "TENSOR",
    "GRAPH",
    "FLOATS",
    "INTS",
    "STRINGS",
    "TENSORS",
    "GRAPHS",
    "SPARSE_TENSOR",
    "SPARSE_TENSORS",
    "TYPE_PROTO",
    "TYPE_PROTOS",
];

/// The number of the attribute type with this name.
pub(crate) fn attribute_type(name: &str) -> u64 {
    ATTRIBUTE_TYPES.iter().position(|known| *known == name).unwrap_or(0) as u64
}

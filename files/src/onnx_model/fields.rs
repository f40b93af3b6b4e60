//! The field numbers of `onnx.proto` that conversions look at, by onnx 1.23.

pub(super) mod model {
    pub const IR_VERSION: u32 = 1;
    pub const GRAPH: u32 = 7;
    pub const OPSET_IMPORT: u32 = 8;
    pub const TRAINING_INFO: u32 = 20;
    pub const FUNCTIONS: u32 = 25;
}

/// `OperatorSetIdProto`.
pub(super) mod opset {
    pub const DOMAIN: u32 = 1;
    pub const VERSION: u32 = 2;
}

pub(super) mod function {
    pub const NAME: u32 = 1;
    pub const NODE: u32 = 7;
    pub const OPSET_IMPORT: u32 = 9;
    pub const DOMAIN: u32 = 10;
}

pub(super) mod graph {
    pub const NODE: u32 = 1;
    pub const INITIALIZER: u32 = 5;
    pub const INPUT: u32 = 11;
    pub const OUTPUT: u32 = 12;
    pub const VALUE_INFO: u32 = 13;
    pub const SPARSE_INITIALIZER: u32 = 15;
}

pub(super) mod node {
    pub const INPUT: u32 = 1;
    pub const OUTPUT: u32 = 2;
    pub const NAME: u32 = 3;
    pub const OP_TYPE: u32 = 4;
    pub const ATTRIBUTE: u32 = 5;
    pub const DOMAIN: u32 = 7;
}

pub(super) mod attribute {
    pub const NAME: u32 = 1;
    pub const F: u32 = 2;
    pub const I: u32 = 3;
    pub const T: u32 = 5;
    pub const G: u32 = 6;
    pub const FLOATS: u32 = 7;
    pub const INTS: u32 = 8;
    pub const STRINGS: u32 = 9;
    pub const TENSORS: u32 = 10;
    pub const GRAPHS: u32 = 11;
    pub const TYPE: u32 = 20;
    pub const SPARSE_TENSOR: u32 = 22;
    pub const SPARSE_TENSORS: u32 = 23;

    /// `AttributeProto.AttributeType`.
    pub const TYPE_INT: u64 = 2;
    pub const TYPE_TENSOR: u64 = 4;
}

/// `SparseTensorProto`.
pub(super) mod sparse {
    pub const VALUES: u32 = 1;
    pub const INDICES: u32 = 2;
}

/// `ValueInfoProto`, `TypeProto` and `TypeProto.Tensor`.
pub(super) mod value {
    pub const NAME: u32 = 1;
    pub const TYPE: u32 = 2;
    pub const TENSOR_TYPE: u32 = 1;
    pub const ELEM_TYPE: u32 = 1;
}

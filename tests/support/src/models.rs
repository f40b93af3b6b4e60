//! Models of casts as bytes, without a library for protobuf.

use wgpu_cast::ElementType;

/// A field of a message, with bytes or another message in it.
pub fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    [&field, bytes].concat()
}

/// A `ValueInfoProto` of unknown shape.
pub fn value(name: &str, t: ElementType) -> Vec<u8> {
    [field(1, name.as_bytes()), field(2, &field(1, &[8, t.onnx_code() as u8]))].concat()
}

/// A `NodeProto` as a part of a graph.
pub fn cast(from: &str, name: &str, to: ElementType) -> Vec<u8> {
    let to = [field(1, b"to"), vec![3 << 3, to.onnx_code() as u8, 0xa0, 1, 2]].concat();
    let parts = [field(1, from.as_bytes()), field(2, name.as_bytes()), field(4, b"Cast"), field(5, &to)];
    field(1, &parts.concat())
}

/// A `ModelProto` of a graph's fields.
pub fn model(graph: &[u8]) -> Vec<u8> {
    [vec![8, 8], field(8, &[16, 25]), field(7, graph)].concat()
}

/// A model that casts its input from each of the types to the next.
pub fn chain(types: &[ElementType]) -> Vec<u8> {
    let name = |index: usize| format!("v{index}");
    let last = types.len() - 1;
    let mut graph = [field(11, &value(&name(0), types[0])), field(12, &value(&name(last), types[last]))].concat();
    for (index, &to) in types.iter().enumerate().skip(1) {
        graph.extend(cast(&name(index - 1), &name(index), to));
    }
    model(&graph)
}

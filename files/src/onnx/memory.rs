//! Decodes messages. prost aborts the process where there is no memory for one, so it is asked for before.

use bytes::Bytes;
use prost::Message;

use crate::onnx::{MessageError, ModelFault, TensorFault};

/// What decoding copies out of a message. Other fields are one entry each: bytes are shared with the message.
struct Fields {
    /// The repeated numbers by their field, and their size in memory.
    numbers: &'static [(u64, Size)],
    /// The fields that are strings.
    strings: &'static [u64],
    /// A field that is a message, decoded together with this one.
    nested: Option<(u64, &'static Fields)>,
}

#[derive(Clone, Copy)]
enum Size {
    /// As large as in the message.
    Fixed,
    /// So many bytes for each varint.
    Varint(u64),
}

const OTHER: Fields = Fields { numbers: &[], strings: &[], nested: None };
const TENSOR: Fields = Fields {
    numbers: &[
        (1, Size::Varint(8)),
        (4, Size::Fixed),
        (5, Size::Varint(4)),
        (7, Size::Varint(8)),
        (10, Size::Fixed),
        (11, Size::Varint(8)),
    ],
    strings: &[8],
    nested: None,
};
const ATTRIBUTE: Fields =
    Fields { numbers: &[(7, Size::Fixed), (8, Size::Varint(8))], strings: &[1, 21], nested: Some((5, &TENSOR)) };
const NODE: Fields = Fields { strings: &[1, 2, 3, 4, 7], ..OTHER };
const GRAPH: Fields = Fields { strings: &[2], ..OTHER };
const MODEL: Fields = Fields { strings: &[2], nested: Some((7, &GRAPH)), ..OTHER };
const VALUE_INFO: Fields = Fields { strings: &[1], ..OTHER };
const FUNCTION: Fields = Fields { strings: &[1, 10], ..OTHER };
const OPSET: Fields = Fields { strings: &[1], ..OTHER };
const ENTRY_OF_STRINGS: Fields = Fields { strings: &[1, 2], ..OTHER };

/// Bytes for one entry that is not a packed number.
const ENTRY: u64 = 64;

/// Less than this is not asked for: other parts of a program take it too.
const LITTLE: u64 = 1 << 20;

/// A message from bytes.
pub(super) fn parse_message<M: Message + Default>(bytes: Bytes, message: &'static str) -> Result<M, MessageError> {
    check(&bytes, message).map_err(|bytes| match message {
        "TensorProto" | "StringStringEntryProto" => {
            MessageError::Tensor { name: String::new(), fault: TensorFault::OutOfMemory { bytes } }
        }
        _ => ModelFault::OutOfMemory { bytes }.into(),
    })?;
    M::decode(bytes).map_err(|error| MessageError::Message { message, reason: error.to_string() })
}

/// Whether there is memory to decode a message of the given type. The error is the number of bytes that it takes.
fn check(bytes: &[u8], message: &str) -> Result<(), u64> {
    let fields = match message {
        "TensorProto" => &TENSOR,
        "AttributeProto" => &ATTRIBUTE,
        "ModelProto" => &MODEL,
        "NodeProto" => &NODE,
        "ValueInfoProto" => &VALUE_INFO,
        "FunctionProto" => &FUNCTION,
        "OperatorSetIdProto" => &OPSET,
        "StringStringEntryProto" => &ENTRY_OF_STRINGS,
        _ => &OTHER,
    };
    // A vector that grows takes up to twice what it needs, and names are copied once more.
    let needed = 2 * decoded(bytes, fields);
    if needed <= LITTLE {
        return Ok(());
    }
    let mut probe = Vec::<u8>::new();
    probe.try_reserve_exact(usize::try_from(needed).unwrap_or(usize::MAX)).map_err(|_| needed)
}

/// The bytes that the entries of a message take. What is not a message is counted up to its first error.
fn decoded(mut bytes: &[u8], fields: &Fields) -> u64 {
    let mut total = 0;
    while let Some(key) = varint(&mut bytes) {
        let field = key >> 3;
        let rest = match key & 7 {
            0 => varint(&mut bytes).map(|_| bytes),
            1 => bytes.get(8..),
            5 => bytes.get(4..),
            2 => {
                let data = varint(&mut bytes).and_then(|length| bytes.split_at_checked(usize::try_from(length).ok()?));
                let Some((data, rest)) = data else { return total };
                let size = fields.numbers.iter().find(|(number, _)| *number == field).map(|(_, size)| *size);
                total += match (size, fields.nested) {
                    (Some(Size::Fixed), _) => data.len() as u64,
                    (Some(Size::Varint(size)), _) => size * data.iter().filter(|byte| **byte < 0x80).count() as u64,
                    (None, Some((nested, fields))) if nested == field => decoded(data, fields),
                    (None, _) if fields.strings.contains(&field) => data.len() as u64,
                    (None, _) => 0,
                };
                Some(rest)
            }
            // The start or the end of a group.
            _ => Some(bytes),
        };
        let Some(rest) = rest else { return total };
        bytes = rest;
        total += ENTRY;
    }
    total
}

/// The number at the start of the bytes, which is taken from them.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_by_their_field() {
        // int64_data of three varints, one of two bytes; raw_data of four bytes; a name; a dim that is not packed.
        let tensor = [7 << 3 | 2, 4, 1, 0x80, 1, 5, 9 << 3 | 2, 4, 0, 0, 0, 0, 8 << 3 | 2, 1, b't', 1 << 3, 9];
        assert_eq!(decoded(&tensor, &TENSOR), 3 * 8 + 1 + 4 * ENTRY);
        let attribute = [&[5 << 3 | 2, tensor.len() as u8][..], &tensor, &[7 << 3 | 2, 8], &[0; 8]].concat();
        assert_eq!(decoded(&attribute, &ATTRIBUTE), 3 * 8 + 1 + 8 + 6 * ENTRY);
        assert_eq!(decoded(&attribute, &OTHER), 2 * ENTRY);
        // Strings: a name in a graph in a model, and three of a node.
        let graph = [2 << 3 | 2, 3, b'a', b'b', b'c'];
        let model = [&[2 << 3 | 2, 1, b'p', 7 << 3 | 2, graph.len() as u8][..], &graph].concat();
        assert_eq!(decoded(&model, &MODEL), 1 + 3 + 3 * ENTRY);
        assert_eq!(decoded(&[0x0a, 1, b'x', 0x0a, 2, b'y', b'z', 0x22, 0, 0x2a, 1, 0], &NODE), 3 + 4 * ENTRY);
        // Fixed numbers outside of packed fields, a group, and data beyond the end.
        assert_eq!(decoded(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0x0b, 0x0c, 0x0a, 9, 1], &TENSOR), 4 * ENTRY);
        assert_eq!(decoded(&[0xff; 30], &TENSOR), 0);
        for fields in [&VALUE_INFO, &FUNCTION, &OPSET, &ENTRY_OF_STRINGS] {
            assert_eq!(decoded(&[0x0a, 1, b'x'], fields), 1 + ENTRY);
        }
        assert_eq!(decoded(&[1 << 3, 9, 1 << 3, 9], &TENSOR), 2 * ENTRY);
    }
}

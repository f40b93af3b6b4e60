//! A protobuf writer for the tests, independent of the crate's.

/// A message in the making, or some fields of one: messages one after another are their fields together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message(pub Vec<u8>);

/// A message without fields.
pub fn message() -> Message {
    Message::default()
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl Message {
    fn tag(mut self, field: u64, wire_type: u64) -> Self {
        varint(&mut self.0, field << 3 | wire_type);
        self
    }

    pub fn int(self, field: u64, value: i64) -> Self {
        let mut message = self.tag(field, 0);
        varint(&mut message.0, value as u64);
        message
    }

    pub fn ints(self, field: u64, values: &[i64]) -> Self {
        values.iter().fold(self, |message, &value| message.int(field, value))
    }

    pub fn packed(self, field: u64, values: &[i64]) -> Self {
        let mut bytes = Vec::new();
        values.iter().for_each(|&value| varint(&mut bytes, value as u64));
        self.bytes(field, bytes)
    }

    pub fn fixed64(self, field: u64, value: u64) -> Self {
        self.tag(field, 1).raw(value.to_le_bytes())
    }

    pub fn bytes(self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        let mut message = self.tag(field, 2);
        varint(&mut message.0, bytes.as_ref().len() as u64);
        message.raw(bytes)
    }

    pub fn fixed32(self, field: u64, value: u32) -> Self {
        self.tag(field, 5).raw(value.to_le_bytes())
    }

    /// Bytes as they are.
    pub fn raw(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend(bytes.as_ref());
        self
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The field numbers of `TensorProto`.
pub const DIMS: u64 = 1;
pub const DATA_TYPE: u64 = 2;
pub const SEGMENT: u64 = 3;
pub const FLOAT_DATA: u64 = 4;
pub const INT32_DATA: u64 = 5;
pub const STRING_DATA: u64 = 6;
pub const INT64_DATA: u64 = 7;
pub const NAME: u64 = 8;
pub const RAW_DATA: u64 = 9;
pub const DOUBLE_DATA: u64 = 10;
pub const UINT64_DATA: u64 = 11;
pub const EXTERNAL_DATA: u64 = 13;
pub const DATA_LOCATION: u64 = 14;

/// A `TensorProto` without data.
pub fn tensor(data_type: i32, dims: &[i64]) -> Message {
    message().ints(DIMS, dims).int(DATA_TYPE, data_type.into()).bytes(NAME, "t")
}

/// A `StringStringEntryProto`.
pub fn entry(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Message {
    message().bytes(1, key).bytes(2, value)
}

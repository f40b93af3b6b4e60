//! Writes fields.

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The length of a varint in bytes. Each byte has 7 bits of the value, and 0 takes one byte.
pub(crate) fn varint_bytes(value: u64) -> u64 {
    u64::from(64 - (value | 1).leading_zeros()).div_ceil(7)
}

/// Appends a field with a varint.
pub(crate) fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Appends the key and the length of a field of `length` bytes. The caller appends the bytes.
pub(crate) fn put_length(out: &mut Vec<u8>, field: u32, length: u64) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, length);
}

/// Appends a field of bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_length(out, field, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

//! Parses a protobuf message into fields, mutates them, and writes them with correct lengths.

use crate::mutate;
use support::random::Random;

#[derive(Clone)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone)]
enum Value {
    Varint(u64),
    Bytes(Vec<u8>),
    /// Four bytes or eight.
    Fixed(Vec<u8>),
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn take(bytes: &mut &[u8], count: u64) -> Option<Vec<u8>> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(taken.to_vec())
}

/// The fields, if the bytes are nothing else.
fn parse(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = read_varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Varint(read_varint(&mut bytes)?),
            1 => Value::Fixed(take(&mut bytes, 8)?),
            2 => {
                let length = read_varint(&mut bytes)?;
                Value::Bytes(take(&mut bytes, length)?)
            }
            5 => Value::Fixed(take(&mut bytes, 4)?),
            _ => return None,
        };
        fields.push(Field { number: tag >> 3, value });
    }
    Some(fields)
}

fn write(fields: &[Field]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Field { number, value } in fields {
        let (wire_type, content) = match value {
            Value::Varint(value) => (0, varint(*value)),
            Value::Bytes(content) => (2, [varint(content.len() as u64), content.clone()].concat()),
            Value::Fixed(content) => (if content.len() == 8 { 1 } else { 5 }, content.clone()),
        };
        bytes.extend(varint(number << 3 | wire_type));
        bytes.extend(content);
    }
    bytes
}

/// Changes a field of the message, or of a message in it; other messages lend theirs. Does nothing to other bytes.
pub fn mutate(random: &mut Random, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    let Some(mut fields) = parse(bytes).filter(|fields| !fields.is_empty()) else { return };
    let (at, other) = (random.below(fields.len()), random.below(fields.len()));
    match random.below(16) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(other, fields[at].clone()),
        2 => fields.swap(at, other),
        3 => fields[at].number = 1 + random.below(22) as u64,
        4 => {
            let many = 1 << random.below(7);
            fields.splice(at..at, vec![fields[at].clone(); many]);
        }
        5 | 6 => {
            if let Some(field) = lent(random, others) {
                fields.insert(at, field);
            }
        }
        _ => change(random, &mut fields[at].value, others),
    }
    *bytes = write(&fields);
}

fn change(random: &mut Random, value: &mut Value, others: &[Vec<u8>]) {
    match value {
        Value::Varint(value) => *value = mutate::number(random, *value),
        Value::Fixed(bytes) => {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        Value::Bytes(bytes) => {
            if random.below(4) > 0 && parse(bytes).is_some_and(|fields| !fields.is_empty()) {
                mutate(random, bytes, others);
            } else {
                mutate::bytes(random, bytes, others);
            }
        }
    }
}

/// A field of another message, or of a message in it.
fn lent(random: &mut Random, others: &[Vec<u8>]) -> Option<Field> {
    let mut message = random.pick(others).clone();
    loop {
        let field = parse(&message).filter(|fields| !fields.is_empty()).map(|fields| random.pick(&fields).clone())?;
        match &field.value {
            Value::Bytes(bytes) if random.below(3) > 0 && parse(bytes).is_some_and(|fields| !fields.is_empty()) => {
                message = bytes.clone();
            }
            _ => return Some(field),
        }
    }
}

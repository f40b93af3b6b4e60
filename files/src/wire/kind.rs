//! Which fields a kind of message has, and which values they can have.

use super::fields::Value;

/// A kind of message, with the forms of its known fields.
#[derive(Debug)]
pub(crate) struct Kind {
    pub name: &'static str,
    forms: [Form; 32],
}

/// The values that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Any value, any number of times: the field is not known.
    Any,
    /// An integer, an enum or a bool.
    Number,
    Float,
    /// A string or a message.
    Bytes,
    /// Any number of strings or messages.
    List,
    /// Any number of integers, packed or not.
    Numbers,
    Floats,
    Doubles,
}

impl Kind {
    /// A kind with these fields: their numbers, which are below 32, and their forms.
    pub(crate) const fn new(name: &'static str, fields: &[(u32, Form)]) -> Self {
        let mut forms = [Form::Any; 32];
        let mut index = 0;
        while index < fields.len() {
            forms[fields[index].0 as usize] = fields[index].1;
            index += 1;
        }
        Self { name, forms }
    }

    pub(super) fn form(&self, field: u32) -> Form {
        self.forms.get(field as usize).copied().unwrap_or(Form::Any)
    }
}

impl Form {
    pub(super) fn is_given_once(self) -> bool {
        matches!(self, Form::Number | Form::Float | Form::Bytes)
    }

    pub(super) fn allows(self, value: &Value) -> bool {
        match self {
            Form::Any => true,
            Form::Number => matches!(value, Value::Varint(_)),
            Form::Float => matches!(value, Value::Fixed32(_)),
            Form::Bytes | Form::List => matches!(value, Value::Bytes(_)),
            Form::Numbers => matches!(value, Value::Varint(_) | Value::Bytes(_)),
            Form::Floats => matches!(value, Value::Fixed32(_) | Value::Bytes(_)),
            Form::Doubles => matches!(value, Value::Fixed64(_) | Value::Bytes(_)),
        }
    }
}

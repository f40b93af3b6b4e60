//! JSON objects with the places of their members. `serde_json::Value` would keep only the last of equal names, and
//! would forget the text around the values.

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in their order: their names, and the texts of their values.
pub type Members<'a> = Vec<(String, &'a RawValue)>;

/// Reads the members of an object. The text must consist of this object. Members with equal names are all returned.
///
/// # Errors
/// The text is not JSON, or is no object.
pub fn members(text: &str) -> serde_json::Result<Members<'_>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = reader.deserialize_map(Object)?;
    reader.end()?;
    Ok(members)
}

/// The first name that is given twice.
pub fn repeated<'a>(members: &'a Members<'_>) -> Option<&'a str> {
    let mut names = std::collections::HashSet::new();
    members.iter().map(|(name, _)| name.as_str()).find(|name| !names.insert(*name))
}

struct Object;

impl<'a> Visitor<'a> for Object {
    type Value = Members<'a>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

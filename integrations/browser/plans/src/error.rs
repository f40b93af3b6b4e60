//! Errors for JavaScript, as JSON: the name of what is wrong, as the variants of `wgpu_cast::Error` and
//! `wgpu_cast::CastFault` have it, the text, and the details as fields. `npm/thrown.js` makes errors of them.

use wasm_bindgen::JsValue;
use wgpu_cast::{CastFault, Error, Side, SliceFault};

/// The error as the text of a JSON object.
pub fn of(error: &Error) -> JsValue {
    let mut fields = Fields(String::from("{"));
    fields.text("message", &error.to_string());
    let name = match error {
        Error::Cast { from, to, cause, .. } => {
            fields.text("from", from.name());
            fields.text("to", to.name());
            of_cast(&mut fields, cause)
        }
        Error::ElementWidth { element_type, allowed, .. } => {
            fields.text("elementType", element_type.name());
            fields.number("allowed", (*allowed).into());
            "ElementWidth"
        }
        Error::WgslName { name, taken, .. } => {
            fields.text("wgslName", name);
            fields.value("taken", if *taken { "true" } else { "false" });
            "WgslName"
        }
        // Nothing else can happen here.
        _ => "CastError",
    };
    fields.text("name", name);
    fields.0.push('}');
    JsValue::from(fields.0)
}

/// Sets the fields of a fault. Returns its name.
fn of_cast(fields: &mut Fields, cause: &CastFault) -> &'static str {
    match cause {
        CastFault::NoKernel => "NoKernel",
        CastFault::Limit { limit, needed, allowed, .. } => {
            fields.text("limit", limit);
            fields.number("needed", *needed);
            fields.number("allowed", *allowed);
            "Limit"
        }
        CastFault::Slice { side, offset, fault, .. } => {
            fields.text("side", side_name(*side));
            fields.number("offset", *offset);
            let fault = of_slice(fields, fault);
            fields.text("fault", fault);
            "Slice"
        }
        CastFault::Overlap { ranges, .. } => {
            let [first, second] = ranges.each_ref().map(|range| {
                let mut fields = Fields(String::from("{"));
                fields.text("side", side_name(range.side));
                fields.number("start", range.bytes.start);
                fields.number("end", range.bytes.end);
                fields.0
            });
            fields.value("ranges", &["[", &first, "},", &second, "}]"].concat());
            "Overlap"
        }
        CastFault::Strides { axis, .. } => {
            if let Some(axis) = axis {
                fields.number("axis", *axis as u64);
            }
            "Strides"
        }
        // Nothing else can happen here.
        _ => "CastError",
    }
}

/// Sets the fields of a slice's fault. Returns its name.
fn of_slice(fields: &mut Fields, fault: &SliceFault) -> &'static str {
    match fault {
        SliceFault::Alignment { alignment, .. } => {
            fields.number("alignment", *alignment);
            "alignment"
        }
        SliceFault::Length { expected, found, .. } => {
            fields.number("expected", *expected);
            fields.number("found", *found);
            "length"
        }
        SliceFault::OutOfRange { end, size, .. } => {
            fields.number("end", *end);
            fields.number("size", *size);
            "outOfRange"
        }
        // Nothing else can happen here.
        _ => "missingUsage",
    }
}

fn side_name(side: Option<Side>) -> &'static str {
    match side {
        Some(Side::Source) => "source",
        Some(Side::Destination) => "destination",
        None => "count",
    }
}

/// The fields of a JSON object, without its end.
struct Fields(String);

impl Fields {
    fn text(&mut self, name: &str, text: &str) {
        let mut value = String::from("\"");
        for letter in text.chars() {
            match letter {
                '"' | '\\' => value.extend(['\\', letter]),
                '\0'..' ' => value.push_str(&format!("\\u{:04x}", letter as u32)),
                _ => value.push(letter),
            }
        }
        value.push('"');
        self.value(name, &value);
    }

    fn number(&mut self, name: &str, number: u64) {
        self.value(name, &number.to_string());
    }

    /// Adds a field, whose value is JSON.
    fn value(&mut self, name: &str, value: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        for part in [comma, "\"", name, "\":", value] {
            self.0.push_str(part);
        }
    }
}

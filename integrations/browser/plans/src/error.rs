//! Errors for JavaScript: objects with the name of what is wrong, as the variants of `wgpu_cast::Error` and
//! `wgpu_cast::CastFault` have it, the text, and the details as fields. `npm/errors.js` makes classes of them.

use js_sys::{Array, Object, Reflect};
use wasm_bindgen::JsValue;
use wgpu_cast::{BufferRange, CastFault, Error, Side, SliceFault};

/// The error as an object.
pub fn of(error: &Error) -> JsValue {
    let fields = Fields(Object::new());
    fields.set("message", error.to_string());
    match error {
        Error::Cast { from, to, cause, .. } => {
            fields.set("from", from.name());
            fields.set("to", to.name());
            fields.set("name", of_cast(&fields, cause));
        }
        Error::ElementWidth { element_type, allowed, .. } => {
            fields.set("name", "ElementWidth");
            fields.set("elementType", element_type.name());
            fields.set("allowed", *allowed);
        }
        Error::WgslName { name, taken, .. } => {
            fields.set("name", "WgslName");
            fields.set("wgslName", name.as_str());
            fields.set("taken", *taken);
        }
        // Nothing else can happen here.
        _ => fields.set("name", "CastError"),
    }
    fields.0.into()
}

/// Sets the fields of a fault. Returns its name.
fn of_cast(fields: &Fields, cause: &CastFault) -> &'static str {
    match cause {
        CastFault::NoKernel => "NoKernel",
        CastFault::Limit { limit, needed, allowed, .. } => {
            fields.set("limit", *limit);
            fields.set("needed", *needed as f64);
            fields.set("allowed", *allowed as f64);
            "Limit"
        }
        CastFault::Slice { side, offset, fault, .. } => {
            fields.set("side", side.map_or("count", side_name));
            fields.set("offset", *offset as f64);
            fields.set("fault", of_slice(fields, fault));
            "Slice"
        }
        CastFault::Overlap { ranges, .. } => {
            let range = |range: &BufferRange| {
                let fields = Fields(Object::new());
                fields.set("side", range.side.map_or("count", side_name));
                fields.set("start", range.bytes.start as f64);
                fields.set("end", range.bytes.end as f64);
                fields.0
            };
            fields.set("ranges", ranges.iter().map(range).collect::<Array>());
            "Overlap"
        }
        CastFault::Strides { axis, .. } => {
            fields.set("axis", axis.map_or(JsValue::UNDEFINED, |axis| (axis as f64).into()));
            "Strides"
        }
        // Nothing else can happen here.
        _ => "CastError",
    }
}

/// Sets the fields of a slice's fault. Returns its name.
fn of_slice(fields: &Fields, fault: &SliceFault) -> &'static str {
    match fault {
        SliceFault::Alignment { alignment, .. } => {
            fields.set("alignment", *alignment as f64);
            "alignment"
        }
        SliceFault::Length { expected, found, .. } => {
            fields.set("expected", *expected as f64);
            fields.set("found", *found as f64);
            "length"
        }
        SliceFault::OutOfRange { end, size, .. } => {
            fields.set("end", *end as f64);
            fields.set("size", *size as f64);
            "outOfRange"
        }
        // Nothing else can happen here.
        _ => "missingUsage",
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Source => "source",
        Side::Destination => "destination",
    }
}

struct Fields(Object);

impl Fields {
    fn set(&self, name: &str, value: impl Into<JsValue>) {
        // A new object takes every property.
        let _ = Reflect::set(&self.0, &name.into(), &value.into());
    }
}

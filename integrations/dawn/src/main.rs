//! Writes casts of every pair of numeric types into a folder: for each pair FROM-TO.json with all that a caster is told,
//! and FROM-TO.bin with the bytes of the buffers before the casts and after them. The second argument is every which pair
//! is written.

use std::error::Error;
use std::path::Path;

use serde_json::{Value, json};
use support::numeric;
use support::planned::{Place, PlannedCast, SourceCodes, Variant};
use support::shapes::Shape;
use wgpu_cast::{CastOptions, CodeLookup, Float4Nan, Int4Overflow};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), every) = (arguments.next(), arguments.next()) else { return Err("the folder is missing".into()) };
    let every: usize = every.map_or(Ok(1), |every| every.parse())?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
    let mut codes = None;
    for (from, to) in pairs.step_by(every.max(1)) {
        if codes.as_ref().is_none_or(|(known, _)| *known != from) {
            codes = Some((from, SourceCodes::new(from)));
        }
        let Some((_, codes)) = &codes else { continue };
        let mut data = Vec::new();
        let casts: Vec<Value> = codes.casts(to).map(|(variant, cast)| described(&variant, &cast, &mut data)).collect();
        let path = folder.join(format!("{from}-{to}"));
        std::fs::write(path.with_extension("bin"), data)?;
        std::fs::write(path.with_extension("json"), serde_json::to_vec(&casts)?)?;
    }
    Ok(())
}

/// What a caster is told of a cast, and where its bytes are in the data.
fn described(variant: &Variant, cast: &PlannedCast, data: &mut Vec<u8>) -> Value {
    let (tuning, limits) = (&cast.settings.tuning, &cast.settings.limits);
    json!({
        "variant": variant.to_string(),
        "elements": cast.elements,
        "layout": cast.shape.as_ref().map_or(json!(cast.elements), view),
        "options": options(&variant.options),
        "places": cast.places.map(place),
        "limits": { "maxStorageBufferBindingSize": limits.binding_size },
        // JSON has no infinity.
        "onlyEdges": tuning.blocks_from == Some(u64::MAX),
        "lookup": if tuning.lookup == CodeLookup::Computed { "computed" } else { "table" },
        "before": cast.before.iter().map(|bytes| range(data, bytes)).collect::<Vec<_>>(),
        "after": range(data, &cast.after),
    })
}

fn view(shape: &Shape) -> Value {
    json!({ "shape": shape.sizes, "sourceStrides": shape.source, "destinationStrides": shape.destination })
}

fn place(place: Place) -> Value {
    match place.first {
        None => json!({ "offset": place.offset }),
        Some(first) => json!({ "offset": place.offset, "first": first }),
    }
}

fn options(options: &CastOptions) -> Value {
    json!({
        "saturate": options.saturate,
        "roundMode": options.round_mode.name(),
        "int4Overflow": if options.int4_overflow == Int4Overflow::Clamp { "clamp" } else { "wrap" },
        "float4Nan": if options.float4_nan == Float4Nan::Max { "max" } else { "zero" },
    })
}

/// Appends bytes to the data. Returns where they start and end.
fn range(data: &mut Vec<u8>, bytes: &[u8]) -> [usize; 2] {
    let start = data.len();
    data.extend_from_slice(bytes);
    [start, data.len()]
}

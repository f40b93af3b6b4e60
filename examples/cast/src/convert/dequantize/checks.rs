//! Whether the tensors that belong to codes fit their layout.

use serde_json::Value;
use wgpu_cast::{ElementType, Kind};
use wgpu_cast_files::SafetensorsTensor;

use super::config::Config;
use super::formats::{FORMATS, Format, Grain};
use super::geometry::Geometry;
use super::located::{Located, Place};
use super::small::{read, sizes};
use crate::convert::scales::{Companion, METADATA, Member, companions, module};
use crate::text::printable;

/// The text about codes whose scale is missing.
pub(super) fn missing(codes: &SafetensorsTensor) -> String {
    let pairs = companions(&codes.name).filter(|companion| companion.member == Member::Scale);
    let fits = |companion: &Companion| {
        let stored = |format: &&Format| codes.element_type.is_some_and(|stored| format.codes.contains(&stored));
        FORMATS.iter().filter(stored).any(|format| format.ends == companion.ends)
    };
    let name = pairs.into_iter().find(fits).map_or_else(|| format!("{}_scale", codes.name), |pair| pair.name);
    format!("its scale {} is in no file of the model", printable(&name))
}

/// The layout with these names and types.
pub(super) fn format_of(
    codes: &SafetensorsTensor,
    scale: &Companion,
    scales: &Place,
) -> Result<&'static Format, String> {
    let has = |types: &[ElementType], found: Option<ElementType>| found.is_some_and(|found| types.contains(&found));
    let named: Vec<_> = FORMATS.iter().filter(|format| format.ends == scale.ends).collect();
    let fits =
        |format: &&&Format| has(format.codes, codes.element_type) && has(format.scales, scales.tensor.element_type);
    let shown = |types: &[ElementType]| types.iter().map(|shown| shown.name()).collect::<Vec<_>>().join("/");
    named.iter().find(fits).copied().ok_or_else(|| {
        let of_type = |tensor: &SafetensorsTensor| tensor.element_type.map_or("complex", |found| found.name());
        let known: Vec<_> =
            named.iter().map(|format| format!("{} by {}", shown(format.codes), shown(format.scales))).collect();
        let (name, codes, scales) = (printable(&scale.name), of_type(codes), of_type(&scales.tensor));
        format!("{codes} with the scale {name} of {scales} is in no layout; known are {}", known.join(", "))
    })
}

/// Refuses a model of another program.
pub(super) fn check_method(format: &Format, config: Option<&Config>) -> Result<(), String> {
    match config {
        Some(config) if !format.methods.is_empty() && !format.methods.contains(&config.method()) => {
            let (told, method, expected) = (&config.told, config.method(), format.methods.join(" or "));
            Err(format!("{told} is of {method:?}, and its layout is one of {expected} ({})", format.source))
        }
        _ => Ok(()),
    }
}

/// Checks what ComfyUI says of the layout: in a tensor of JSON beside the codes, or in the metadata of the file.
pub(super) fn check_description(
    codes: &SafetensorsTensor,
    model: &Located,
    described: &[&Companion],
    metadata: Option<&str>,
) -> Result<(), String> {
    let mut formats = Vec::new();
    for companion in described {
        let place = model.get(&companion.name).map_err(|what| format!("{} {what}", printable(&companion.name)))?;
        let bytes = read(place, 4096)?;
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        formats.push((companion.name.clone(), value["format"].as_str().unwrap_or("").to_owned()));
    }
    if let Some(metadata) = metadata {
        let value: Value = serde_json::from_str(metadata).unwrap_or_default();
        if let Some(format) = value["layers"][module(&codes.name)]["format"].as_str() {
            formats.push((format!("{:?}", METADATA), format.to_owned()));
        }
    }
    let known = match codes.element_type {
        Some(ElementType::FLOAT8E4M3FN) => "float8_e4m3fn",
        Some(ElementType::FLOAT8E5M2) => "float8_e5m2",
        _ => "",
    };
    match formats.into_iter().find(|(_, format)| format != known) {
        Some((name, format)) => {
            let source = "comfyanonymous/ComfyUI, comfy/quant_ops.py";
            Err(format!(
                "{} says {format:?}; known are float8_e4m3fn and float8_e5m2 of this type ({source})",
                printable(&name)
            ))
        }
        None => Ok(()),
    }
}

/// The type and the shape of the codes, one for each code.
pub(super) fn stored_codes(
    format: &Format,
    codes: &SafetensorsTensor,
    model: &Located,
) -> Result<(ElementType, Vec<u64>), String> {
    let mut shape = codes.shape.clone();
    let Some(stored) = codes.element_type else { return Err("it is complex".to_owned()) };
    match format.grain {
        Grain::Pairs(_) | Grain::Blocks | Grain::TransposedBlocks => {
            shape.last_mut().into_iter().for_each(|last| *last = last.saturating_mul(2));
            Ok((ElementType::FLOAT4E2M1, shape))
        }
        Grain::Words => {
            let common = codes.name.strip_suffix(format.ends[0]).unwrap_or(&codes.name);
            let name = format!("{common}_shape");
            let place = model.get(&name).map_err(|what| format!("its shape {} {what}", printable(&name)))?;
            let shape = sizes(&name, place)?;
            let bits = |bits: &u64| {
                matches!(shape[..], [rows, columns] if codes.shape.first() == Some(&rows)
                && columns.checked_mul(*bits).is_some_and(|bits| bits % 32 == 0 && codes.shape.last() == Some(&(bits / 32))))
            };
            match [4, 8].iter().find(|width| bits(width)).filter(|_| codes.shape.len() == 2) {
                Some(4) => Ok((ElementType::UINT4, shape)),
                Some(_) => Ok((ElementType::UINT8, shape)),
                None => {
                    let (name, found) = (printable(&name), &codes.shape);
                    Err(format!("its shape {found:?} is not that of 4 or 8 bits for {shape:?}, which {name} says"))
                }
            }
        }
        _ => Ok((stored, shape)),
    }
}

/// Refuses integers without zero points if the configuration says that all have some.
pub(super) fn check_symmetric(
    codes: &SafetensorsTensor,
    format: &Format,
    element_type: ElementType,
    config: Option<&Config>,
) -> Result<(), String> {
    let bits = element_type.bits().map(u64::from);
    let weights = config.map(Config::weights).unwrap_or_default();
    let integers: Vec<_> = weights.iter().filter(|weights| !weights.is_float && weights.bits == bits).collect();
    let is_integer = matches!(element_type.kind(), Kind::Int { .. });
    match is_integer && !integers.is_empty() && integers.iter().all(|weights| weights.is_asymmetric) {
        true => {
            let common = codes.name.strip_suffix(format.ends[0]).unwrap_or(&codes.name);
            let name = format!("{common}_zero_point");
            Err(format!("its zero point {} is in no file of the model", printable(&name)))
        }
        false => Ok(()),
    }
}

/// Checks zero points. The number is that of the bits of packed ones, or 0.
pub(super) fn zero_points<'a>(
    format: &Format,
    geometry: &Geometry,
    scales: &[u64],
    name: &str,
    place: &'a Place,
    element_type: ElementType,
) -> Result<(&'a Place, u32), String> {
    let bits = element_type.bits().unwrap_or(0);
    let (wanted_type, wanted, bits) = match format.grain {
        Grain::Words => {
            let groups = geometry.columns / geometry.block[1];
            (ElementType::INT32, vec![geometry.rows.div_ceil(u64::from(32 / bits)), groups], bits)
        }
        _ if element_type == ElementType::INT8 => (ElementType::INT8, scales.to_vec(), 0),
        _ => return Err(format!("{} is not expected for {element_type} ({})", printable(name), format.source)),
    };
    let (found, shape) = (place.tensor.element_type, &place.tensor.shape);
    if found != Some(wanted_type) || *shape != wanted {
        let found = found.map_or("complex", |found| found.name());
        let name = printable(name);
        return Err(format!(
            "its zero point {name} is {found} of shape {shape:?}, and {wanted_type} of {wanted:?} would fit ({})",
            format.source
        ));
    }
    Ok((place, bits))
}

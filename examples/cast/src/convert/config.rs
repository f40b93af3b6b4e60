//! Configurations of models, which name the type of the tensors: `torch_dtype` and `dtype`.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;
use wgpu_cast::ElementType;

use super::dequantize::LONGEST_CONFIGURATION;
use super::folder_types::FolderTypes;
use super::inputs::check_regular;
use super::json::{Members, members, repeated};
use super::quantize::{configuration, transposed_layers};
use crate::failure::Failure;
use crate::text::printable;

/// The depth to which fields are searched for.
const DEEPEST: usize = 16;

/// Fields that name the type of the tensors.
const FIELDS: [&str; 2] = ["torch_dtype", "dtype"];

/// Fields that say how tensors are quantized. The fields inside them do not name the type of the tensors.
const QUANTIZATION: [&str; 2] = ["quantization_config", "compression_config"];

/// The field that names the kind of model. A model of several, such as an encoder and a decoder, has an object for each.
const MODEL: &str = "model_type";

/// The file that describes a model.
const OF_MODEL: &str = "config.json";

/// A file that says how tensors are quantized, and nothing else.
const OF_SCALES: &str = "hf_quant_config.json";

/// The names of a type in configurations: PyTorch's name, and a short one.
const NAMES: [(ElementType, &str, Option<&str>); 9] = [
    (ElementType::DOUBLE, "float64", Some("fp64")),
    (ElementType::FLOAT, "float32", Some("fp32")),
    (ElementType::FLOAT16, "float16", Some("fp16")),
    (ElementType::BFLOAT16, "bfloat16", Some("bf16")),
    (ElementType::FLOAT8E4M3FN, "float8_e4m3fn", None),
    (ElementType::FLOAT8E4M3FNUZ, "float8_e4m3fnuz", None),
    (ElementType::FLOAT8E5M2, "float8_e5m2", None),
    (ElementType::FLOAT8E5M2FNUZ, "float8_e5m2fnuz", None),
    (ElementType::FLOAT8E8M0, "float8_e8m0fnu", None),
];

/// Extensions of files of weights that are not converted.
const OTHER_WEIGHTS: [&str; 10] = ["bin", "ckpt", "gguf", "h5", "msgpack", "ot", "pdparams", "pkl", "pt", "pth"];

/// The prefix that older programs put before PyTorch's names.
const PREFIX: &str = "torch.";

/// A place in a file, and the text that replaces it.
pub type Edit = (Range<usize>, String);

/// What is changed in a configuration, and what a user should know.
#[derive(Debug, Default, PartialEq)]
pub struct Changes {
    pub edits: Vec<Edit>,
    pub warnings: Vec<String>,
}

/// Whether a file is the configuration of a model.
fn is_config(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == OF_MODEL || name.ends_with("_config.json")
}

/// Whether a file says only how tensors are quantized.
pub fn is_of_scales(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == OF_SCALES)
}

/// What is told of a file that describes other tensors than there are.
pub const OUTDATED: &str = "left as it is; it does not hold for the tensors any more";

/// Warnings of the files in a folder that do not hold for its tensors after the conversion of its files alone.
pub fn outdated(folder: &Path, types: &FolderTypes) -> Vec<String> {
    let mut told = Vec::new();
    let path = folder.join(OF_MODEL);
    if check_regular(&path).is_ok() {
        match changes(&path, types) {
            Ok(Changes { edits, .. }) if !edits.is_empty() => {
                told.push(format!("{}: {OUTDATED} (a conversion of the whole folder changes it)", path.display()));
            }
            Ok(Changes { warnings, .. }) if warnings.is_empty() => {}
            // It cannot be read, or says something that a conversion would not change.
            _ => told.push(format!("{}: left as it is, and may not hold for the tensors any more", path.display())),
        }
    }
    let path = folder.join(OF_SCALES);
    if types.is_dequantized() && path.exists() {
        told.push(format!("{}: {OUTDATED}", path.display()));
    }
    told
}

/// The changes in a file that is copied, if it is the configuration of a model whose tensors are cast.
///
/// # Errors
/// The file cannot be read, or gives a member twice that is to tell of scales.
pub fn changes(path: &Path, types: &FolderTypes) -> Result<Changes, Failure> {
    let size = fs::metadata(path).map_err(|error| Failure::at(path, error))?.len();
    if !is_config(path) || !(types.is_cast || types.quantized.is_some()) {
        return Ok(Changes::default());
    }
    if size > LONGEST_CONFIGURATION {
        let what = format!("it has {size} bytes, the limit is {LONGEST_CONFIGURATION}");
        return Ok(Changes { edits: Vec::new(), warnings: vec![format!("copied as it is, because {what}")] });
    }
    let bytes = fs::read(path).map_err(|error| Failure::at(path, error))?;
    let mut changes = Changes::default();
    let found = match std::str::from_utf8(&bytes) {
        Ok(text) => changes.of_text(path, text, types)?.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(what) = found {
        let warning = format!("copied as it is, because it is no JSON object: {what}");
        return Ok(Changes { edits: Vec::new(), warnings: vec![warning] });
    }
    Ok(changes)
}

/// Whether a file that is copied may have weights in a format that is not converted.
pub fn may_have_weights(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    OTHER_WEIGHTS.contains(&extension.as_str())
}

impl Changes {
    /// The changes in the text of a configuration, in the order of their places.
    fn of_text(&mut self, path: &Path, text: &str, types: &FolderTypes) -> Result<serde_json::Result<()>, Failure> {
        let members = match members(text) {
            Ok(members) => members,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(layout) = types.quantized.filter(|_| path.file_name().is_some_and(|file| file == OF_MODEL)) {
            // Readers take the last of equal names, or refuse them.
            if let Some(name) = repeated(&members) {
                return Err(Failure::at(path, format_args!("{name:?} is given twice")));
            }
            if let Err(error) = self.tell(text, &members, &configuration(layout, &types.kept_layers())) {
                return Ok(Err(error));
            }
            self.warn_of_transposed(&members, types);
        }
        // Without other casts the type of the tensors stays, because the model computes in it.
        let found = if types.is_cast { self.find(text, 0, types, 0) } else { Ok(()) };
        self.edits.sort_by_key(|(place, _)| place.start);
        Ok(found)
    }

    /// Adds the configuration of new scales to that of a model.
    fn tell(&mut self, text: &str, members: &Members<'_>, told: &Value) -> serde_json::Result<()> {
        let [name, _] = QUANTIZATION;
        let told = serde_json::to_string_pretty(told)?.replace('\n', "\n  ");
        // One that says nothing may be there.
        let empty = members.iter().find(|(member, _)| member == name);
        self.edits.push(match (empty, text.find('{')) {
            (Some((_, value)), _) => (place_in(text, value), told),
            (None, start) => {
                let (start, end) = (start.map_or(0, |brace| brace + 1), if members.is_empty() { "\n" } else { "," });
                (start..start, format!("\n  {name:?}: {told}{end}"))
            }
        });
        Ok(())
    }

    /// Warns of layers with transposed weights, to which transformers applies no scales.
    fn warn_of_transposed(&mut self, object: &Members<'_>, types: &FolderTypes) {
        let inner = object.iter().filter_map(|(_, value)| members(value.get()).ok());
        for model in inner.filter_map(|object| model_type(&object)).chain(model_type(object)) {
            let mut layers = types.layers_with_scales(transposed_layers(&model));
            let Some(first) = layers.next() else { continue };
            let (first, more) = (printable(first), layers.count());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.warnings.push(format!(
                "transformers takes the codes without the scales in layers that are Conv1D, which {model:?} has: \
                 {first}{more} (--except leaves weights as they are)"
            ));
        }
    }

    /// Searches for fields in an object. `start` is its place in the file.
    fn find(&mut self, text: &str, start: usize, types: &FolderTypes, depth: usize) -> serde_json::Result<()> {
        let members = members(text)?;
        let is_removed = |name: &str| QUANTIZATION.contains(&name) && types.is_dequantized();
        let places: Vec<_> = members.iter().map(|(name, value)| (place_in(text, value), is_removed(name))).collect();
        let removed = removed(text, &places).into_iter();
        self.edits.extend(removed.map(|range| (range.start + start..range.end + start, String::new())));
        for (name, value) in members {
            let place = place_in(text, value).start + start;
            if is_removed(&name) {
                // With what is beside it, above.
            } else if types.quantized.is_some() && depth == 0 && name == QUANTIZATION[0] {
                // It is replaced.
            } else if QUANTIZATION.contains(&name.as_str()) && value.get() != "null" {
                self.warnings.push(format!("{name:?} is left as it is, and may not hold for the tensors any more"));
            } else if let (true, Ok(old)) =
                (FIELDS.contains(&name.as_str()), serde_json::from_str::<String>(value.get()))
            {
                match renamed(&old, &types.floats) {
                    Ok(Some(new)) => self.edits.push((place..place + value.get().len(), format!("{new:?}"))),
                    Ok(None) => {}
                    Err(why) => self.warnings.push(format!("{name:?} is left as {old:?}, because {why}")),
                }
            } else if value.get().starts_with('{') && depth < DEEPEST {
                self.find(value.get(), place, types, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// The kind of model that an object describes.
fn model_type(object: &Members<'_>) -> Option<String> {
    let (_, value) = object.iter().find(|(name, _)| name == MODEL)?;
    serde_json::from_str(value.get()).ok()
}

/// The place of a value in the text that it was read from.
fn place_in(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + value.get().len()
}

/// The places of the members that are removed, with their commas. `values` are the places of all values of an object, and
/// whether their members are removed.
fn removed(text: &str, values: &[(Range<usize>, bool)]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at: usize = 0;
    for run in values.chunk_by(|(_, a), (_, b)| a == b) {
        let (first, last, before) = (&run[0], &run[run.len() - 1], at.checked_sub(1));
        at += run.len();
        if !first.1 {
            continue;
        }
        let (from, to) = (member_at(text, first.0.clone()), member_at(text, last.0.clone()));
        // After the last member there is no comma, so the one before the first that is removed goes.
        ranges.push(match before.filter(|_| at == values.len()) {
            Some(before) => values[before].0.end..to.end,
            None => from.start..to.end,
        });
    }
    ranges
}

/// The place of a member whose value lies here, with the comma behind it, or the one before it if it is the last one.
fn member_at(text: &str, value: Range<usize>) -> Range<usize> {
    let is_space = |c: char| c.is_ascii_whitespace();
    // Before the value lie the colon and the name, whose quotation marks are the only ones that no backslash precedes.
    let named = text[..value.start].trim_end_matches(is_space).trim_end_matches(':').trim_end_matches(is_space);
    let name = named.strip_suffix('"').unwrap_or(named);
    let quotes = name.char_indices().rev().filter(|(_, c)| *c == '"');
    let start = quotes.map(|(at, _)| at).find(|&at| !name[..at].ends_with('\\')).unwrap_or(named.len());
    let (before, after) = (text[..start].trim_end_matches(is_space), text[value.end..].trim_start_matches(is_space));
    match (after.strip_prefix(','), before.strip_suffix(',')) {
        (Some(after), _) => start..text.len() - after.trim_start_matches(is_space).len(),
        (None, Some(before)) => before.len()..value.end,
        (None, None) => start..value.end,
    }
}

/// The new type, spelled in the way of the old one. `None` if the field stays right, or names no type.
fn renamed(old: &str, types: &BTreeSet<ElementType>) -> Result<Option<String>, String> {
    let types: Vec<_> = types.iter().copied().collect();
    let (prefix, name) = old.strip_prefix(PREFIX).map_or(("", old), |name| (PREFIX, name));
    let Some((from, long, _)) = NAMES.iter().find(|(_, long, short)| *long == name || *short == Some(name)) else {
        return Ok(None);
    };
    match types[..] {
        [to] if to == *from => Ok(None),
        [to] => {
            let row = NAMES.iter().find(|(element_type, ..)| *element_type == to);
            let spelt = row.and_then(|(_, new, short)| if long == &name { Some(*new) } else { *short });
            let spelt = spelt.ok_or_else(|| format!("{to} has no name of this kind"))?;
            Ok(Some(format!("{prefix}{spelt}")))
        }
        [] => Ok(None),
        _ => {
            let names: Vec<_> = types.iter().map(|t| t.name()).collect();
            Err(format!("the tensors have several float types: {}", names.join(", ")))
        }
    }
}

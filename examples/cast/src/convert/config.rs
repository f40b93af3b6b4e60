//! Configurations of models, which name the type of the tensors: `torch_dtype` and `dtype`.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use wgpu_cast::{ElementType, Kind};

use super::json::members;
use crate::failure::Failure;

/// The longest configuration that is read. Longer files, such as vocabularies, are no configurations.
const LONGEST: u64 = 4 << 20;

/// The depth to which fields are searched for.
const DEEPEST: usize = 16;

/// Fields that name the type of the tensors.
const FIELDS: [&str; 2] = ["torch_dtype", "dtype"];

/// A field that says how tensors are quantized. The fields inside it do not name the type of the tensors.
const QUANTIZATION: &str = "quantization_config";

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
    name == "config.json" || name.ends_with("_config.json")
}

/// The float types of the tensors in a folder after the conversion.
#[derive(Debug, Default)]
pub struct FolderTypes {
    floats: BTreeSet<ElementType>,
    is_cast: bool,
}

impl FolderTypes {
    /// Adds a tensor, and the type to which it is cast.
    pub fn add(&mut self, from: Option<ElementType>, to: Option<ElementType>) {
        let is_float = from.is_some_and(|from| matches!(from.kind(), Kind::Float(_)));
        self.floats.extend(to.or(from).filter(|_| is_float));
        self.is_cast |= to.is_some();
    }
}

/// The changes in a file that is copied, if it is the configuration of a model whose tensors are cast.
///
/// # Errors
/// The file cannot be read.
pub fn changes(path: &Path, types: &FolderTypes) -> Result<Changes, Failure> {
    let size = fs::metadata(path).map_err(|error| Failure::at(path, error))?.len();
    if !is_config(path) || size > LONGEST || !types.is_cast {
        return Ok(Changes::default());
    }
    let bytes = fs::read(path).map_err(|error| Failure::at(path, error))?;
    let types: Vec<_> = types.floats.iter().copied().collect();
    let mut changes = Changes::default();
    let found = match std::str::from_utf8(&bytes) {
        Ok(text) => changes.find(text, 0, &types, 0).map_err(|error| error.to_string()),
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
    /// Searches for fields in an object. `start` is its place in the file.
    fn find(&mut self, text: &str, start: usize, types: &[ElementType], depth: usize) -> serde_json::Result<()> {
        for (name, value) in members(text)? {
            let place = value.get().as_ptr() as usize - text.as_ptr() as usize + start;
            if name == QUANTIZATION && value.get() != "null" {
                self.warnings.push(format!("{name:?} is left as it is, and may not hold for the tensors any more"));
            } else if let (true, Ok(old)) =
                (FIELDS.contains(&name.as_str()), serde_json::from_str::<String>(value.get()))
            {
                match renamed(&old, types) {
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

/// The new type, spelled in the way of the old one. `None` if the field stays right, or names no type.
fn renamed(old: &str, types: &[ElementType]) -> Result<Option<String>, String> {
    let (prefix, name) = old.strip_prefix(PREFIX).map_or(("", old), |name| (PREFIX, name));
    let Some((from, long, _)) = NAMES.iter().find(|(_, long, short)| *long == name || *short == Some(name)) else {
        return Ok(None);
    };
    match types {
        [to] if to == from => Ok(None),
        [to] => {
            let row = NAMES.iter().find(|(element_type, ..)| element_type == to);
            let spelt = row.and_then(|(_, new, short)| if long == &name { Some(*new) } else { *short });
            let spelt = spelt.ok_or_else(|| format!("{to} has no name of this kind"))?;
            Ok(Some(format!("{prefix}{spelt}")))
        }
        [] => Ok(None),
        several => {
            let names: Vec<_> = several.iter().map(|t| t.name()).collect();
            Err(format!("the tensors have several float types: {}", names.join(", ")))
        }
    }
}

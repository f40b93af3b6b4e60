//! The indexes of sharded models: which tensor is in which shard.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path};

use serde_json::Value;
use wgpu_cast::ElementType;
use wgpu_cast_files::SafetensorsFile;

use super::input_state::checksum_ends;
use super::inputs;
use super::json::{members, repeated};
use super::shard_part::ShardPart;
use crate::failure::Failure;

/// The longest index that is read.
const LONGEST_INDEX: u64 = 256 << 20;

/// The member that says in which shard each tensor is.
const WEIGHT_MAP: &str = "weight_map";

/// The text between the name of the index and the number of the part.
const PART: &str = ".part-";

/// The content of the headers of all shards.
pub struct Shards {
    /// Identifies the shards.
    pub identity: u64,
    /// The names, types and shapes of the tensors.
    pub tensors: Vec<(String, Option<ElementType>, Vec<u64>)>,
}

/// The index of a sharded model, or of a part of it.
#[derive(Debug)]
pub struct Index {
    pub name: String,
    /// Everything except the map of weights.
    pub content: Value,
    /// The shard of each tensor.
    pub weights: BTreeMap<String, String>,
}

impl Index {
    /// Reads the index at a path.
    ///
    /// # Errors
    /// The file cannot be read, is no regular file or no index, gives a name twice, or names a shard outside its
    /// folder.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = inputs::read_text(path, "the index", LONGEST_INDEX)?;
        let (content, weights) = parse(&text).map_err(|what| Failure::at(path, what))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, content, weights })
    }

    /// The shards, sorted by name.
    pub fn shards(&self) -> BTreeSet<&str> {
        self.weights.values().map(String::as_str).collect()
    }

    /// Compares the index with the headers of all its shards. Each tensor must be only in the shard that the index
    /// names, and the index must name each tensor.
    ///
    /// # Errors
    /// A shard is invalid, or a tensor is not where the index says.
    pub fn check(&self, folder: &Path) -> Result<Shards, String> {
        let mut identity = DefaultHasher::new();
        let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut tensors = Vec::new();
        for shard in self.shards() {
            let path = folder.join(shard);
            let input = inputs::open_regular(&path).map_err(|failure| failure.to_string())?;
            let file = SafetensorsFile::read(&input).map_err(|error| format!("the shard {shard}: {error}"))?;
            for tensor in file.tensors() {
                found.entry(tensor.name.clone()).or_default().push(shard);
                tensors.push((tensor.name.clone(), tensor.element_type, tensor.shape.clone()));
            }
            checksum_ends(&input).map_err(|error| format!("the shard {shard}: {error}"))?.hash(&mut identity);
        }
        for (tensor, shard) in &self.weights {
            match found.get(tensor).map(Vec::as_slice) {
                Some([one]) if one == shard => {}
                Some([one, another, ..]) => {
                    return Err(format!("the tensor {tensor} is in two shards: {one} and {another}"));
                }
                Some([other]) => return Err(format!("the shard {shard} has no tensor {tensor}, which is in {other}")),
                _ => return Err(format!("the shard {shard} has no tensor {tensor}")),
            }
        }
        match found.iter().find(|(tensor, _)| !self.weights.contains_key(*tensor)) {
            Some((tensor, shards)) => {
                Err(format!("the shard {} has the tensor {tensor}, which the index does not name", shards[0]))
            }
            None => Ok(Shards { identity: identity.finish(), tensors }),
        }
    }

    /// The text of the index.
    pub fn text(&self) -> String {
        let mut content = self.content.clone();
        content[WEIGHT_MAP] = serde_json::json!(self.weights);
        serde_json::to_string_pretty(&content).unwrap_or_default() + "\n"
    }
}

/// The content and the map of weights.
fn parse(text: &str) -> Result<(Value, BTreeMap<String, String>), String> {
    let told = |error: serde_json::Error| error.to_string();
    let outer = members(text).map_err(told)?;
    if let Some(name) = repeated(&outer) {
        return Err(format!("{name:?} is given twice"));
    }
    let map = outer.iter().find(|(name, _)| name == WEIGHT_MAP).ok_or("it has no \"weight_map\"")?.1;
    let map = members(map.get()).map_err(|error| format!("\"weight_map\": {error}"))?;
    let mut weights = BTreeMap::new();
    for (tensor, shard) in map {
        let shard: String = serde_json::from_str(shard.get())
            .map_err(|_| format!("\"weight_map\" names no file for the tensor {tensor}"))?;
        if !is_file_name(&shard) {
            return Err(format!("\"weight_map\" names {shard:?}, which is no file of its folder"));
        }
        if let Some(other) = weights.insert(tensor.clone(), shard.clone()) {
            return Err(format!("the tensor {tensor} is given twice: in {other} and in {shard}"));
        }
    }
    let mut content: Value = serde_json::from_str(text).map_err(told)?;
    content.as_object_mut().into_iter().for_each(|content| drop(content.remove(WEIGHT_MAP)));
    match content["metadata"] {
        Value::Null | Value::Object(_) => Ok((content, weights)),
        _ => Err("\"metadata\" is not an object".to_owned()),
    }
}

/// Whether a text names a file in a folder, and nothing else, on every system.
fn is_file_name(text: &str) -> bool {
    let mut components = Path::new(text).components();
    let first = components.next();
    matches!(first, Some(Component::Normal(only)) if only == text) && !text.contains('\\')
}

/// Whether a file's name is that of a sharded model's index: `.safetensors`, then `.index`, and `.json` at the end. A
/// variant such as `fp16` may be anywhere: `model.safetensors.index.fp16.json`, `model.safetensors.fp16.index.json`.
pub fn is_index(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let words: Vec<_> = name.split('.').collect();
    let place = |wanted: &str| words.iter().skip(1).position(|word| *word == wanted);
    place("safetensors").zip(place("index")).is_some_and(|(format, index)| format < index) && name.ends_with(".json")
}

/// The name of the index of a part.
pub fn name_of_part(index: &str, part: ShardPart) -> String {
    format!("{index}{PART}{}-of-{}", part.index, part.count)
}

/// The name of the whole index, and the part, if `name` is that of a part's index.
pub fn part_of_name(name: &str) -> Option<(&str, ShardPart)> {
    let (index, part) = name.rsplit_once(PART)?;
    let (number, count) = part.split_once("-of-")?;
    Some((index, ShardPart::parse(&format!("{number}/{count}")).ok()?))
}

//! `cast merge-index`: joins the indexes of the parts of a sharded model.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wgpu_cast::files::SafetensorsFile;

use crate::args::MergeArgs;
use crate::atomic::{self, target::Existing};
use crate::convert::{Finished, Index, ShardPart, inputs};
use crate::failure::Failure;
use crate::output::{counted, note};

/// What stands between the name of the index and the number of the part.
const PART: &str = ".part-";

/// Where the index of a part says of which conversion it is.
pub const CONVERSION: &str = "cast_conversion";

/// The name of the index of a part.
pub fn name_of_part(index: &str, part: ShardPart) -> String {
    format!("{index}{PART}{}-of-{}", part.index, part.count)
}

/// Joins the indexes of all parts in a folder. All must belong to one conversion, none may be missing, no tensor may be
/// in two, and every shard must be a complete file that has its tensors.
pub fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let fail = |what: String| Failure::at(folder, what);
    let parts = parts(folder)?;
    let Some((name, count)) = parts.keys().next().map(|(name, part)| (name.clone(), part.1)) else {
        return Err(fail("no index of a part (*.index.json.part-I-of-N) is here".to_owned()));
    };
    if let Some((other, _)) = parts.keys().find(|(other, part)| *other != name || part.1 != count) {
        return Err(fail(format!("the indexes of several conversions are here: {name} in {count} parts, and {other}")));
    }
    if let Some(missing) = (1..=count).find(|&index| !parts.contains_key(&(name.clone(), (index, count)))) {
        return Err(fail(format!("part {missing} of {count} is missing")));
    }
    let mut merged: Option<Index> = None;
    for path in parts.values() {
        let index = Index::read(path)?;
        check_shards(folder, &index).map_err(|what| Failure::at(path, what))?;
        match &mut merged {
            None => merged = Some(index),
            Some(merged) => add(merged, &index).map_err(|what| Failure::at(path, what))?,
        }
    }
    let Some(Index { mut content, .. }) = merged else { return Ok(()) };
    content.as_object_mut().into_iter().for_each(|content| drop(content.remove(CONVERSION)));
    let tensors = content["weight_map"].as_object().map_or(0, serde_json::Map::len) as u64;
    let text = serde_json::to_string_pretty(&content).unwrap_or_default() + "\n";
    atomic::write(&folder.join(&name), &[text.as_bytes()], Existing::default())?;
    let lists = (1..=count).map(|index| Finished::open(folder, Some(ShardPart { index, count })));
    lists.for_each(|list| list.remove());
    for path in parts.values() {
        fs::remove_file(path).map_err(|error| Failure::at(path, error))?;
    }
    note(format_args!("{name}: {} from {}", counted(tensors, "tensor"), counted(count as u64, "part")));
    Ok(())
}

/// Checks that each shard is a complete file, and that its tensors are there.
fn check_shards(folder: &Path, index: &Index) -> Result<(), String> {
    let mut found = HashSet::new();
    for shard in index.shards()? {
        let input = inputs::open(&folder.join(&shard)).map_err(|failure| failure.to_string())?;
        let file = SafetensorsFile::read(&input).map_err(|error| format!("the shard {shard}: {error}"))?;
        found.extend(file.tensors().iter().map(|tensor| (tensor.name.clone(), shard.clone())));
    }
    for (tensor, shard) in index.content["weight_map"].as_object().into_iter().flatten() {
        let shard = shard.as_str().unwrap_or_default();
        if !found.contains(&(tensor.clone(), shard.to_owned())) {
            return Err(format!("the shard {shard} has no tensor {tensor}"));
        }
    }
    Ok(())
}

/// Adds the tensors and the size of a part.
fn add(merged: &mut Index, part: &Index) -> Result<(), String> {
    if merged.content[CONVERSION] != part.content[CONVERSION] {
        return Err("it is a part of another conversion".to_owned());
    }
    let size = |index: &Index| index.content["metadata"]["total_size"].as_u64();
    let total = size(merged).zip(size(part)).and_then(|(a, b)| a.checked_add(b)).ok_or("it has no valid total_size")?;
    let Value::Object(new) = part.content["weight_map"].clone() else {
        return Err("it has no \"weight_map\"".to_owned());
    };
    let Some(map) = merged.content["weight_map"].as_object_mut() else { return Err("no \"weight_map\"".to_owned()) };
    for (tensor, shard) in new {
        if map.insert(tensor.clone(), shard).is_some() {
            return Err(format!("the tensor {tensor} is in another part too"));
        }
    }
    merged.content["metadata"]["total_size"] = total.into();
    Ok(())
}

/// The name of the whole index, and the number and count of a part.
type Key = (String, (usize, usize));

/// The indexes of parts in a folder, by the name of the whole index, and the number and count of the part.
fn parts(folder: &Path) -> Result<BTreeMap<Key, PathBuf>, Failure> {
    let mut parts = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| Failure::at(folder, error))? {
        let path = entry.map_err(|error| Failure::at(folder, error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((index, part)) = name.rsplit_once(PART) else { continue };
        let Some(part) = part.split_once("-of-").and_then(|(i, n)| ShardPart::parse(&format!("{i}/{n}")).ok()) else {
            continue;
        };
        parts.insert((index.to_owned(), (part.index, part.count)), path);
    }
    Ok(parts)
}

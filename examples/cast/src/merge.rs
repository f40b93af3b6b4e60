//! `wgpu-cast merge-index`: joins the indexes of the parts of sharded models.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::args::MergeArgs;
use crate::atomic;
use crate::atomic::target::{Existing, Permissions};
use crate::convert::index::{Index, part_of_name};
use crate::convert::index_output::Conversion;
use crate::convert::listing::Listing;
use crate::convert::{Finished, ShardPart, Source};
use crate::failure::Failure;
use crate::output::{counted, note};

/// The indexes of the parts of one model, by the numbers of the parts.
type Parts = BTreeMap<usize, PathBuf>;

/// A model whose parts were checked.
struct Model {
    folder: PathBuf,
    index: Index,
    count: usize,
    parts: Parts,
}

/// Joins the indexes of all parts in a folder and in its folders. All parts of a model must belong to one conversion,
/// and none may be missing. Every shard must be the one that was made with its part, and must contain its tensors.
pub fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let mut models = Vec::new();
    find(&args.folder, &mut models)?;
    if models.is_empty() {
        let what = "no index of a part (*.index.json.part-I-of-N) is here";
        return Err(Failure::at(&args.folder, what));
    }
    for Model { folder, index, parts, .. } in &models {
        let modes = parts.values().filter_map(|path| Some(Source::of(path).state?.mode));
        let existing = Existing { permissions: Permissions::of_all(modes), ..Existing::default() };
        atomic::write(&folder.join(&index.name), &[index.text().as_bytes()], existing)?;
    }
    for Model { index, count, parts, .. } in models {
        for (&number, path) in &parts {
            // The list is in the folder of the outputs, which may be an outer folder.
            Finished::open(&args.folder, Some(ShardPart { index: number, count })).remove();
            fs::remove_file(path).map_err(|error| Failure::at(path, error))?;
        }
        let tensors = counted(index.weights.len() as u64, "tensor");
        note(format_args!("{}: {tensors} from {}", index.name, counted(count as u64, "part")));
    }
    Ok(())
}

/// Finds the models in a folder and in its folders, and checks them.
fn find(folder: &Path, models: &mut Vec<Model>) -> Result<(), Failure> {
    let listing = Listing::read(folder, None)?;
    let mut found: BTreeMap<String, (usize, Parts)> = BTreeMap::new();
    for (path, _) in listing.files {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((name, part)) = part_of_name(&file) else { continue };
        let (count, parts) = found.entry(name.to_owned()).or_insert_with(|| (part.count, Parts::new()));
        if *count != part.count {
            let what = format!("{name} is here in {count} parts and in {} parts", part.count);
            return Err(Failure::at(folder, what));
        }
        parts.insert(part.index, path);
    }
    for (name, (count, parts)) in found {
        if let Some(missing) = (1..=count).find(|index| !parts.contains_key(index)) {
            return Err(Failure::at(folder, format!("{name}: part {missing} of {count} is missing")));
        }
        let index = join(folder, &name, &parts)?;
        models.push(Model { folder: folder.to_owned(), index, count, parts });
    }
    listing.folders.iter().try_for_each(|folder| find(folder, models))
}

/// Joins the indexes of parts, and compares the shards with them.
fn join(folder: &Path, name: &str, parts: &Parts) -> Result<Index, Failure> {
    let mut joined: Option<(Index, Conversion)> = None;
    for path in parts.values() {
        let fail = |what: String| Failure::at(path, what);
        let mut index = Index::read(path)?;
        let conversion = Conversion::take(&mut index).map_err(fail)?;
        conversion.check(&index, folder).map_err(fail)?;
        match &mut joined {
            None => joined = Some((Index { name: name.to_owned(), ..index }, conversion)),
            Some((_, first)) if !first.is_of(&conversion) => {
                return Err(fail("it is a part of another conversion".to_owned()));
            }
            Some((joined, _)) => add(joined, index).map_err(fail)?,
        }
    }
    let (index, _) = joined.ok_or_else(|| Failure::at(folder, format!("{name} has no parts")))?;
    index.check(folder).map_err(|what| Failure::at(&folder.join(&index.name), what))?;
    Ok(index)
}

/// Adds the tensors and the size of a part.
fn add(joined: &mut Index, part: Index) -> Result<(), String> {
    let size = |index: &Index| index.content["metadata"]["total_size"].as_u64();
    let total =
        size(joined).zip(size(&part)).and_then(|(a, b)| a.checked_add(b)).ok_or("it has no valid total_size")?;
    for (tensor, shard) in part.weights {
        if joined.weights.contains_key(&tensor) {
            return Err(format!("the tensor {tensor} is in another part, too"));
        }
        joined.weights.insert(tensor, shard);
    }
    joined.content["metadata"]["total_size"] = total.into();
    Ok(())
}

//! The files that together are a model, and what is known of its scales.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;
use wgpu_cast::ElementType;
use wgpu_cast::files::SafetensorsFile;

use super::index::{Index, is_index};
use super::inputs;
use super::scales::{CONFIGURATIONS, Scales};

/// The longest configuration that is read.
const LONGEST_CONFIGURATION: u64 = 16 << 20;

/// The models that were looked at. The headers of a model's shards are read once.
#[derive(Default)]
pub struct Models {
    /// By the folder and the names of the shards.
    scales: HashMap<(PathBuf, BTreeSet<String>), Rc<Scales>>,
    /// The indexes of folders: which tensor is in which shard.
    indexes: HashMap<PathBuf, Rc<Vec<BTreeMap<String, String>>>>,
}

impl Models {
    /// The scales of the model of which a file is a part: of the shards that an index beside it lists together with it,
    /// or of those whose names differ in their numbers. Other shards that cannot be read are known by the index alone.
    pub fn scales(&mut self, path: &Path, file: &SafetensorsFile) -> Rc<Scales> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        if !path.is_file() {
            let told_by = Scales::in_metadata(file.metadata());
            return Rc::new(Scales::new(&types(file).collect(), told_by));
        }
        let indexes = self.indexes.entry(folder.clone()).or_insert_with(|| Rc::new(indexes(&folder))).clone();
        let index = indexes.iter().find(|index| index.values().any(|shard| *shard == name));
        let mut shards: BTreeSet<String> = match index {
            Some(index) => index.values().cloned().collect(),
            None => numbered(&folder, &name),
        };
        shards.insert(name.clone());
        let known = self.scales.entry((folder.clone(), shards));
        let shards = known.key().1.clone();
        known.or_insert_with(|| Rc::new(read(&folder, &shards, (&name, file), index))).clone()
    }
}

fn types(file: &SafetensorsFile) -> impl Iterator<Item = (String, Option<ElementType>)> {
    let tensors = file.tensors().iter().filter(|tensor| tensor.element_type.is_some());
    tensors.map(|tensor| (tensor.name.clone(), tensor.element_type))
}

/// Reads the headers of all shards but one, which is there already.
fn read(
    folder: &Path,
    shards: &BTreeSet<String>,
    (name, file): (&str, &SafetensorsFile),
    index: Option<&BTreeMap<String, String>>,
) -> Scales {
    let (mut tensors, mut missing) = (BTreeMap::new(), BTreeSet::new());
    let mut told_by = Scales::in_metadata(file.metadata());
    tensors.extend(types(file));
    for shard in shards.iter().filter(|shard| *shard != name) {
        // One that is to be converted is read again, and refused then if it is invalid.
        let read = inputs::open_regular(&folder.join(shard)).ok().and_then(|input| SafetensorsFile::read(&input).ok());
        match read {
            Some(file) => {
                told_by = told_by.or_else(|| Scales::in_metadata(file.metadata()));
                tensors.extend(types(&file));
            }
            None => drop(missing.insert(shard)),
        }
    }
    for (tensor, _) in index.into_iter().flatten().filter(|(_, shard)| missing.contains(shard)) {
        tensors.entry(tensor.clone()).or_insert(None);
    }
    Scales::new(&tensors, told_by.or_else(|| configured(folder)))
}

/// The maps of the indexes in a folder. Those that cannot be read are not used.
fn indexes(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let paths = files(folder).into_iter().map(|name| folder.join(name)).filter(|path| is_index(path));
    paths.filter_map(|path| Some(Index::read(&path).ok()?.weights)).collect()
}

/// The regular files of a folder whose names differ from this one only in the number of the shard:
/// `model-00001-of-00003`.
fn numbered(folder: &Path, name: &str) -> BTreeSet<String> {
    let Some(pattern) = without_number(name) else { return BTreeSet::new() };
    let is_shard = |other: &String| without_number(other).as_ref() == Some(&pattern) && folder.join(other).is_file();
    files(folder).into_iter().filter(is_shard).collect()
}

/// A shard's name before and after its number.
fn without_number(name: &str) -> Option<(&str, &str)> {
    let (before, after) = name.split_once("-of-")?;
    let start = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let has_count = after.starts_with(|c: char| c.is_ascii_digit());
    (start.len() < before.len() && has_count).then_some((start, after))
}

fn files(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

/// What a configuration beside a model says about scales.
fn configured(folder: &Path) -> Option<String> {
    CONFIGURATIONS.iter().find_map(|(name, key)| {
        let path = folder.join(name);
        let text = inputs::read_text(&path, "the configuration", LONGEST_CONFIGURATION).ok()?;
        let content: Value = serde_json::from_str(&text).ok()?;
        content.get(key)?.as_object().filter(|object| !object.is_empty())?;
        Some(format!("{key:?} in {}", path.display()))
    })
}

//! The files that together are a model, and what they tell about its scales.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use wgpu_cast::ElementType;
use wgpu_cast_files::SafetensorsFile;

use super::dequantize::{Config, Located};
use super::index::{Index, is_index};
use super::inputs::{self, Pair, Target};
use super::scales::Scales;
use crate::failure::Failure;
use crate::files::FileFormat;

/// The map of an index: the shard of each tensor.
type Weights = BTreeMap<String, String>;

/// A folder, and the names of a model's files in it.
type Place = (PathBuf, BTreeSet<String>);

/// The models that were read. The headers of a model's shards are read only once.
#[derive(Default)]
pub struct Models {
    /// The safetensors files of this run, by their folders.
    run: HashMap<PathBuf, BTreeSet<String>>,
    models: HashMap<Place, Rc<Model>>,
    scales: HashMap<Place, Rc<Scales>>,
    /// The indexes of folders.
    indexes: HashMap<PathBuf, Rc<Vec<Rc<Weights>>>>,
    located: HashMap<Place, Rc<Located>>,
    configs: HashMap<PathBuf, Rc<Option<Config>>>,
}

/// The tensors of the shards that belong together, by an index or by their names.
struct Model {
    tensors: BTreeMap<String, Option<ElementType>>,
    told_by: Option<String>,
    scales: Rc<Scales>,
}

impl Models {
    /// Starts with the safetensors files that are converted in one run.
    pub fn of_run<'a>(files: impl Iterator<Item = &'a Path>) -> Self {
        let mut run: HashMap<_, BTreeSet<_>> = HashMap::new();
        for path in files {
            let (folder, name) = split(path);
            run.entry(resolved(&folder)).or_default().insert(name);
        }
        Self { run, ..Self::default() }
    }

    /// The scales of the model that a file belongs to. Its shards are those that an index beside the file lists
    /// together with it, or those whose names differ only in their numbers. If another shard cannot be read, the index
    /// alone tells its tensors. Other files of this run in the same folder may have scales whose codes are in other
    /// files.
    pub fn scales(&mut self, path: &Path, file: &SafetensorsFile) -> Rc<Scales> {
        if !path.is_file() {
            let told_by = Scales::in_metadata(file.metadata());
            return Rc::new(Scales::new(&types(file).collect(), told_by));
        }
        let (folder, name) = split(path);
        let (place, index) = self.place(&folder, &name);
        if let Some(known) = self.scales.get(&place) {
            return known.clone();
        }
        let model = self.model(&place, index.as_deref(), Some((&name, file)));
        let in_run = self.run.get(&resolved(&folder)).cloned().unwrap_or_default();
        let others: BTreeMap<_, _> = in_run.difference(&place.1).map(|other| self.place(&folder, other)).collect();
        let mut tensors = model.tensors.clone();
        for (other, index) in &others {
            let other = self.model(other, index.as_deref(), None);
            for (tensor, from) in other.tensors.iter().filter(|(name, _)| !other.scales.pairs(name)) {
                if !model.tensors.contains_key(tensor) {
                    add(&mut tensors, tensor, *from);
                }
            }
        }
        let scales = match tensors.len() == model.tensors.len() {
            true => model.scales.clone(),
            false => Rc::new(Scales::new(&tensors, model.told_by.clone())),
        };
        self.scales.insert(place, scales.clone());
        scales
    }

    /// Where the tensors of the model are that a file belongs to, and those of the other files of this run that may belong
    /// to it. They are the files of [`scales`](Self::scales).
    pub fn located(&mut self, path: &Path, file: &SafetensorsFile) -> Rc<Located> {
        let mut located = Located::default();
        if !path.is_file() {
            located.add(path, file, |_| true);
            return Rc::new(located);
        }
        let (folder, name) = split(path);
        let (place, index) = self.place(&folder, &name);
        if let Some(known) = self.located.get(&place) {
            return known.clone();
        }
        let read = |path: &Path| inputs::open_regular(path).ok().and_then(|input| SafetensorsFile::read(&input).ok());
        for shard in &place.1 {
            let path = folder.join(shard);
            match read(&path) {
                Some(file) => located.add(&path, &file, |_| true),
                None => {
                    let of_shard = index.iter().flat_map(|index| index.iter()).filter(|(_, of)| *of == shard);
                    of_shard.for_each(|(tensor, _)| located.add_unread(tensor, path.clone()));
                }
            }
        }
        let in_run = self.run.get(&resolved(&folder)).cloned().unwrap_or_default();
        let own: BTreeSet<_> = located.names().map(str::to_owned).collect();
        for other in in_run.difference(&place.1) {
            let path = folder.join(other);
            let Some(file) = read(&path) else { continue };
            let (place, index) = self.place(&folder, other);
            let model = self.model(&place, index.as_deref(), Some((other, &file)));
            located.add(&path, &file, |tensor| !own.contains(tensor) && !model.scales.pairs(tensor));
        }
        let located = Rc::new(located);
        self.located.insert(place, located.clone());
        located
    }

    /// What the configuration beside a file says about its scales. Nothing is beside standard input or a pipe.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn config(&mut self, path: &Path) -> Result<Rc<Option<Config>>, Failure> {
        if !path.is_file() {
            return Ok(Rc::default());
        }
        let (folder, _) = split(path);
        if let Some(config) = self.configs.get(&folder) {
            return Ok(config.clone());
        }
        let config = Rc::new(Config::read(&folder)?);
        self.configs.insert(folder, config.clone());
        Ok(config)
    }

    /// The files of the model that a file belongs to, and their index.
    fn place(&mut self, folder: &Path, name: &str) -> (Place, Option<Rc<Weights>>) {
        let indexes = self.indexes.entry(folder.to_owned()).or_insert_with(|| Rc::new(indexes(folder)));
        let index = indexes.iter().find(|index| index.values().any(|shard| shard == name)).cloned();
        let mut shards: BTreeSet<String> = match &index {
            Some(index) => index.values().cloned().collect(),
            None => numbered(folder, name),
        };
        shards.insert(name.to_owned());
        ((folder.to_owned(), shards), index)
    }

    fn model(&mut self, place: &Place, index: Option<&Weights>, known: Option<(&str, &SafetensorsFile)>) -> Rc<Model> {
        self.models.entry(place.clone()).or_insert_with(|| Rc::new(read(place, index, known))).clone()
    }
}

/// The folder and the name of a file.
fn split(path: &Path) -> (PathBuf, String) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (path.parent().unwrap_or(Path::new("")).to_owned(), name)
}

/// The resolved path of a folder. Different paths may name one folder.
fn resolved(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().unwrap_or(folder.to_owned())
}

/// Adds a tensor. If several have one name, the one with the fewest bits counts, because it most likely has codes.
fn add(tensors: &mut BTreeMap<String, Option<ElementType>>, name: &str, from: Option<ElementType>) {
    let bits = |from: Option<ElementType>| from.and_then(ElementType::bits);
    let known = tensors.entry(name.to_owned()).or_insert(from);
    if bits(from) < bits(*known) {
        *known = from;
    }
}

fn types(file: &SafetensorsFile) -> impl Iterator<Item = (String, Option<ElementType>)> {
    let tensors = file.tensors().iter().filter(|tensor| tensor.element_type.is_some());
    tensors.map(|tensor| (tensor.name.clone(), tensor.element_type))
}

/// Reads the headers of all shards except one that is known already.
fn read((folder, shards): &Place, index: Option<&Weights>, known: Option<(&str, &SafetensorsFile)>) -> Model {
    let (mut tensors, mut missing) = (BTreeMap::new(), BTreeSet::new());
    let mut told_by = known.and_then(|(_, file)| Scales::in_metadata(file.metadata()));
    tensors.extend(known.into_iter().flat_map(|(_, file)| types(file)));
    for shard in shards.iter().filter(|shard| known.is_none_or(|(name, _)| *shard != name)) {
        // A shard that is to be converted is read again, and refused then if it is invalid.
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
    // A conversion that needs the configuration refuses one that cannot be read.
    let told_by = told_by.or_else(|| Config::read(folder).ok().flatten().map(|config| config.told));
    let scales = Rc::new(Scales::new(&tensors, told_by.clone()));
    Model { tensors, told_by, scales }
}

/// The maps of the indexes in a folder. Indexes that cannot be read are not used.
fn indexes(folder: &Path) -> Vec<Rc<Weights>> {
    let paths = files(folder).into_iter().map(|name| folder.join(name)).filter(|path| is_index(path));
    paths.filter_map(|path| Some(Rc::new(Index::read(&path).ok()?.weights))).collect()
}

/// Refuses an output that is another shard of the input's model. Someone who forgets the output of two shards gives such a one.
///
/// # Errors
/// The output is such a shard.
pub fn check_output(pair: &Pair) -> Result<(), Failure> {
    let Target::File(output) = &pair.output else { return Ok(()) };
    let (Ok(replaced), FileFormat::Safetensors) = (output.canonicalize(), pair.input_format) else { return Ok(()) };
    let (folder, name) = split(&pair.input);
    let ((_, shards), _) = Models::default().place(&folder, &name);
    let mut others = shards.iter().filter(|shard| **shard != name);
    if others.any(|shard| folder.join(shard).canonicalize().is_ok_and(|path| path == replaced)) {
        let (output, input) = (output.display(), pair.input.display());
        let what = "another shard of the model of";
        return Err(Failure::Usage(format!("{output}: {what} {input} (several inputs need --out-dir DIR)")));
    }
    Ok(())
}

/// The regular files of a folder whose names differ from `name` only in the number of the shard:
/// `model-00001-of-00003`.
fn numbered(folder: &Path, name: &str) -> BTreeSet<String> {
    let Some(pattern) = without_number(name) else { return BTreeSet::new() };
    let is_shard = |other: &String| without_number(other).as_ref() == Some(&pattern) && folder.join(other).is_file();
    files(folder).into_iter().filter(is_shard).collect()
}

/// A shard's name before and after its number.
fn without_number(name: &str) -> Option<(&str, &str)> {
    let (before, after) = name.rsplit_once("-of-")?;
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

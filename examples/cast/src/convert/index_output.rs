//! The index of a model that is converted. Except in place, it is removed before the first shard is replaced. It is
//! written last. So there is never an index of shards that do not belong together.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::index::{Index, is_index, name_of_part, part_of_name};
use super::inputs::is_same_folder;
use super::report::{self, TensorReport};
use super::scales::ScaleRole;
use super::shard_part::ShardPart;
use super::stamp::Stamp;
use crate::args::ConvertArgs;
use crate::atomic::Output;
use crate::atomic::target::Existing;
use crate::failure::Failure;

/// The member of a part's index that identifies the conversion and the shards that were made.
const CONVERSION: &str = "cast_conversion";

/// An index that is written.
#[derive(Debug)]
pub struct IndexOutput {
    pub index: Index,
    /// The folder of the shards that are read.
    pub source: PathBuf,
    /// The folder of the outputs.
    pub folder: PathBuf,
    pub part: Option<ShardPart>,
    /// The shards that are made.
    pub shards: Vec<String>,
}

/// The conversion that a part's index names.
#[derive(Debug, PartialEq)]
pub struct Conversion {
    /// Identifies the rules and the whole model.
    rules: String,
    shards: BTreeMap<String, Stamp>,
}

impl IndexOutput {
    /// The path of the index.
    pub fn path(&self) -> PathBuf {
        let name = &self.index.name;
        self.folder.join(self.part.map_or_else(|| name.clone(), |part| name_of_part(name, part)))
    }

    /// Whether the outputs replace the shards that are read.
    pub fn is_in_place(&self) -> bool {
        is_same_folder(&self.source, &self.folder)
    }

    /// The indexes in the folder of the outputs that become wrong when the shards are replaced: those of the whole
    /// model and of its parts. In place, the index of a whole model is replaced last, by one that is complete before the
    /// first shard is replaced.
    pub fn stale(&self) -> Vec<PathBuf> {
        let (own, is_in_place) = (self.path(), self.is_in_place());
        let is_stale = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let whole = (is_index(path) && !is_in_place).then_some(&*name);
            let of = part_of_name(&name).map(|(index, _)| index).or(whole);
            of.is_some_and(|of| match Index::read(path) {
                _ if *path == own => true,
                Ok(index) => self.shards.iter().any(|shard| index.shards().contains(shard.as_str())),
                Err(_) => of == self.index.name,
            })
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_stale).collect()
    }

    /// Begins to write the index. No other process can write it until this one has ended.
    ///
    /// # Errors
    /// As [`Output::open`].
    pub fn begin(&self, existing: Existing) -> Result<Output, Failure> {
        Output::open_growing(&self.path(), existing)
    }

    /// The index of the shards that were made, with the new total size of their tensors. `sources` identifies the
    /// shards that were read.
    ///
    /// # Errors
    /// Another process has replaced a shard.
    pub fn text(
        mut self,
        tensors: &[TensorReport],
        made: &HashMap<PathBuf, Stamp>,
        sources: u64,
        args: &ConvertArgs,
    ) -> Result<String, Failure> {
        let mut stamps = BTreeMap::new();
        for shard in &self.shards {
            let path = self.folder.join(shard);
            let Some(stamp) = made.get(&path) else { continue };
            if !stamp.is_untouched(&path) {
                return Err(Failure::at(&path, "another process has changed the shard, so the index is not written"));
            }
            stamps.insert(shard.clone(), stamp.clone());
        }
        let rules = self.rules(sources, args);
        let files: Vec<_> = self.shards.iter().map(|shard| self.source.join(shard).display().to_string()).collect();
        let bytes = tensors.iter().filter(|tensor| files.contains(&tensor.file)).map(|tensor| tensor.bytes[1]);
        self.index.content["metadata"]["total_size"] = report::sum(bytes).into();
        if args.rules.dequantize || args.rules.quantize.is_some() {
            // Scales are not there any more, and packed codes had other names. Or weights have scales now.
            self.index.weights = self.weights(tensors);
        }
        if self.part.is_some() {
            // Each part lists its own tensors; `merge-index` joins the lists of one conversion.
            self.index.weights.retain(|_, shard| self.shards.contains(shard));
            self.index.content[CONVERSION] = Conversion { rules, shards: stamps }.to_json();
        }
        Ok(self.index.text())
    }

    /// The tensors of the shards that were made.
    fn weights(&self, tensors: &[TensorReport]) -> BTreeMap<String, String> {
        let shards = self.shards.iter().map(|shard| (self.source.join(shard).display().to_string(), shard));
        let shards: HashMap<_, _> = shards.collect();
        let written = tensors.iter().filter(|tensor| !matches!(tensor.role, Some(ScaleRole::Dropped(_))));
        let place = |tensor: &TensorReport| Some((tensor.name.clone(), (*shards.get(&tensor.file)?).clone()));
        written.filter_map(place).collect()
    }

    /// Identifies the rules of the conversion and the model.
    fn rules(&self, sources: u64, args: &ConvertArgs) -> String {
        let mut hasher = DefaultHasher::new();
        (env!("CARGO_PKG_VERSION"), self.index.text(), args.rules.text(), sources).hash(&mut hasher);
        format!("{:?} {:?}", args.from, args.attributes).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

impl Conversion {
    /// Removes the conversion from a part's index and returns it.
    ///
    /// # Errors
    /// It is not there.
    pub fn take(index: &mut Index) -> Result<Self, String> {
        let value = index.content.as_object_mut().and_then(|content| content.remove(CONVERSION));
        value
            .as_ref()
            .and_then(Self::from_json)
            .ok_or_else(|| format!("it does not say which shards were made ({CONVERSION:?}): convert the part again"))
    }

    /// Whether the other part was made by the same rules from the same model.
    pub fn is_of(&self, other: &Self) -> bool {
        self.rules == other.rules
    }

    /// Checks that the shards of a part's index are those that were made with it.
    ///
    /// # Errors
    /// A shard is a different one, or cannot be read.
    pub fn check(&self, index: &Index, folder: &Path) -> Result<(), String> {
        for shard in index.shards() {
            let fits = self.shards.get(shard).map_or(Ok(false), |stamp| stamp.fits(&folder.join(shard)));
            match fits {
                Ok(true) => {}
                Ok(false) => {
                    return Err(format!("the shard {shard} is not the one that was made: convert the part again"));
                }
                Err(error) => return Err(format!("the shard {shard}: {error}")),
            }
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let shards: BTreeMap<_, _> = self.shards.iter().map(|(shard, stamp)| (shard, stamp.to_json())).collect();
        json!({"rules": self.rules, "shards": shards})
    }

    fn from_json(value: &Value) -> Option<Self> {
        let shards = value["shards"].as_object()?.iter();
        let shards = shards.map(|(shard, stamp)| Some((shard.clone(), Stamp::from_json(stamp)?)));
        Some(Self { rules: value["rules"].as_str()?.to_owned(), shards: shards.collect::<Option<_>>()? })
    }
}

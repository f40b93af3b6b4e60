//! Where the tensors of a model are: its scales may be in other shards than their codes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use wgpu_cast_files::{SafetensorsFile, SafetensorsTensor};

/// A tensor in a file.
#[derive(Clone, Debug)]
pub struct Place {
    pub file: PathBuf,
    pub tensor: SafetensorsTensor,
}

/// The tensors of the files that belong together.
#[derive(Debug, Default)]
pub struct Located {
    places: HashMap<String, Vec<Place>>,
    /// The tensors of shards that cannot be read, as the index names them.
    unread: HashMap<String, PathBuf>,
}

impl Located {
    /// Adds the tensors of a file.
    pub fn add(&mut self, path: &Path, file: &SafetensorsFile, wanted: impl Fn(&str) -> bool) {
        for tensor in file.tensors().iter().filter(|tensor| wanted(&tensor.name)) {
            let place = Place { file: path.to_owned(), tensor: tensor.clone() };
            self.places.entry(tensor.name.clone()).or_default().push(place);
        }
    }

    /// Adds a tensor of a shard that cannot be read.
    pub fn add_unread(&mut self, name: &str, shard: PathBuf) {
        self.unread.insert(name.to_owned(), shard);
    }

    /// The names of the tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().chain(self.unread.keys()).map(String::as_str)
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name) || self.unread.contains_key(name)
    }

    /// The only tensor of this name.
    ///
    /// # Errors
    /// There is none, or there are several. The text follows the name.
    pub fn get(&self, name: &str) -> Result<&Place, String> {
        match self.places.get(name).map(Vec::as_slice) {
            Some([place]) => Ok(place),
            Some([one, other, ..]) => {
                Err(format!("is in two files, {} and {}", one.file.display(), other.file.display()))
            }
            _ => Err(match self.unread.get(name) {
                Some(shard) => format!("is in {}, which cannot be read", shard.display()),
                None => "is in no file of the model".to_owned(),
            }),
        }
    }
}

//! Folders and sharded models: which of their files are converted, copied or ignored.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::advice;
use super::index::Index;
use super::index_output::IndexOutput;
use super::inputs::{check_regular, is_same_folder};
use super::listing::Listing;
use super::request::{Request, into_folder};
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::output::warning;

impl Request {
    /// Adds a folder that was given: all its files that can be converted.
    ///
    /// # Errors
    /// The folder cannot be read, has no such file, or has an invalid index.
    pub fn add_input_folder(&mut self, folder: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let before = self.pairs.len();
        self.add_folder(folder, output, output, args)?;
        // A part may have nothing to do.
        if self.pairs.len() == before && args.part.is_none() {
            let known = advice::of_folder(folder);
            return Err(Failure::at(folder, format_args!("the folder has no file that can be converted{known}")));
        }
        Ok(())
    }

    /// Adds an index that was given: its shards and, with --copy-others, the files beside it.
    ///
    /// # Errors
    /// It is invalid, or a shard does not exist.
    pub fn add_index(&mut self, path: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let index = Index::read(path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if args.copies_others(is_same_folder(folder, output)) && is_first(args) {
            self.copy_beside(&index, folder, output, args)?;
        }
        self.add_model(index, folder, output, args)
    }

    /// Adds the shards that an index names.
    fn add_model(&mut self, index: Index, folder: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let shards: Vec<_> = index.shards().into_iter().map(str::to_owned).collect();
        if shards.is_empty() {
            return Err(Failure::at(&folder.join(&index.name), "\"weight_map\" names no tensor"));
        }
        let sizes = shards.iter().map(|shard| {
            let shard = folder.join(shard);
            check_regular(&shard).map(|metadata| metadata.len())
        });
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let chosen = args.part.map_or_else(|| vec![true; shards.len()], |part| part.choose(&sizes));
        let shards: Vec<_> =
            shards.into_iter().zip(chosen).filter_map(|(shard, chosen)| chosen.then_some(shard)).collect();
        let pair = |shard: &String| into_folder(&folder.join(shard), FileFormat::Safetensors, output, args);
        self.pairs.extend(shards.iter().map(pair));
        let (source, folder) = (folder.to_owned(), output.to_owned());
        self.indexes.push(IndexOutput { index, source, folder, part: args.part, shards });
        Ok(())
    }

    /// Adds the models, the other files and the folders of a folder. `root` is the folder of all outputs.
    fn add_folder(&mut self, folder: &Path, output: &Path, root: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let listing = Listing::read(folder, args.in_format)?;
        listing.check_complete(is_same_folder(folder, output))?;
        let mut shards = HashMap::new();
        for path in &listing.indexes {
            let index = Index::read(path)?;
            for shard in index.shards() {
                if let Some(other) = shards.insert(folder.join(shard), path) {
                    let what = format!("it names the shard {shard}, which {} names, too", other.display());
                    return Err(Failure::at(path, what));
                }
            }
            self.add_model(index, folder, output, args)?;
        }
        let others = listing.files.into_iter().filter(|(file, _)| !shards.contains_key(file));
        for (file, format) in others {
            match format {
                _ if !is_first(args) => self.elsewhere.extend(format),
                Some(format) => self.pairs.push(into_folder(&file, format, output, args)),
                None if args.copies_others(is_same_folder(folder, output)) => self.add_copy(file, output),
                None => {}
            }
        }
        for link in listing.links {
            warning(format_args!("{}: a link to a folder is not entered", link.display()));
        }
        for inner in listing.folders {
            // The outputs may go into a folder of the input.
            if !is_same_folder(&inner, root) {
                let name = inner.file_name().unwrap_or_default();
                self.add_folder(&inner, &output.join(name), root, args)?;
            }
        }
        Ok(())
    }

    /// Copies the files beside an index. Files that could be converted but are not are left out: they would keep their
    /// types.
    fn copy_beside(&mut self, index: &Index, folder: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let listing = Listing::read(folder, args.in_format)?;
        let shards: HashSet<_> = index.shards().into_iter().map(|shard| folder.join(shard)).collect();
        let others = listing.files.into_iter().filter(|(file, _)| !shards.contains(file));
        let (left, copies): (Vec<_>, Vec<_>) = others.partition(|(_, format)| format.is_some());
        copies.into_iter().for_each(|(file, _)| self.add_copy(file, output));
        let indexes = listing.indexes.into_iter().filter(|other| !other.ends_with(&index.name));
        for file in left.into_iter().map(|(file, _)| file).chain(indexes) {
            let what =
                "neither converted nor copied: the index does not name it (give the folder to convert all of it)";
            warning(format_args!("{}: {what}", file.display()));
        }
        Ok(())
    }

    /// Refuses a part that would replace files which the other parts still need.
    ///
    /// # Errors
    /// The part goes into the folder of its model.
    pub fn check_part(&self, args: &ConvertArgs) -> Result<(), Failure> {
        if args.part.is_none() {
            return Ok(());
        }
        if args.in_place {
            return Err(Failure::Usage("--part cannot be combined with --in-place".to_owned()));
        }
        match self.indexes.iter().find(|output| output.is_in_place()) {
            Some(output) => {
                let what = "--part cannot write to the folder of the model, of which the other parts are made";
                Err(Failure::Usage(format!("{}: {what}", output.folder.display())))
            }
            None => Ok(()),
        }
    }

    fn add_copy(&mut self, file: PathBuf, output: &Path) {
        let copy = output.join(file.file_name().unwrap_or_default());
        self.copies.push((file, copy));
    }
}

/// Whether the part also converts the files that belong to no sharded model.
fn is_first(args: &ConvertArgs) -> bool {
    args.part.is_none_or(|part| part.index == 1)
}

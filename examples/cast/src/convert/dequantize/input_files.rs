//! The files from which a task reads.

use std::path::Path;

use wgpu_cast_files::ReadAt;

use crate::convert::input_state::Source;
use crate::convert::inputs;

/// The files of a task: the first is the one that is converted, the others have scales.
pub struct InputFiles {
    pub inputs: Vec<Box<dyn ReadAt>>,
    pub sources: Vec<Source>,
}

impl InputFiles {
    /// The index of a file, which is added if it is not there yet.
    ///
    /// # Errors
    /// It cannot be opened. The text has its path.
    pub fn index_of(&mut self, path: &Path) -> Result<usize, String> {
        if let Some(index) = self.sources.iter().position(|source| source.path == path) {
            return Ok(index);
        }
        self.sources.push(Source::of(path));
        let input = inputs::open_regular(path).map_err(|failure| failure.to_string())?;
        self.inputs.push(Box::new(input));
        Ok(self.inputs.len() - 1)
    }
}

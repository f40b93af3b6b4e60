//! The files that a command line asks to convert, and their outputs.

use std::path::{Path, PathBuf, is_separator};

use super::advice;
use super::index::is_index;
use super::index_output::IndexOutput;
use super::inputs::{Pair, Target};
use super::options;
use crate::args::ConvertArgs;
use crate::atomic::target::is_special;
use crate::failure::Failure;
use crate::files::FileFormat;

/// The work that is asked for.
pub struct Request {
    pub pairs: Vec<Pair>,
    /// The indexes of sharded models, which are written last.
    pub indexes: Vec<IndexOutput>,
    /// Other files of a model's folder, and their copies.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// The folder of the outputs, if all outputs go to one folder.
    pub folder: Option<PathBuf>,
    /// The formats of the files that another part converts, because no index names these files.
    pub elsewhere: Vec<FileFormat>,
}

impl Request {
    /// Finds the files.
    ///
    /// # Errors
    /// A path does not exist, has no known format, or does not go with an option.
    pub fn new(args: &ConvertArgs) -> Result<Self, Failure> {
        let (inputs, output) = match (&args.out_dir, args.paths.split_last()) {
            (Some(folder), _) => (&args.paths[..], folder.clone()),
            (None, Some((output, inputs @ [_]))) => (inputs, output.clone()),
            (None, Some((only, []))) => {
                let what = "give an output, or --out-dir DIR";
                return Err(Failure::Usage(format!("{}: {what}", only.display())));
            }
            _ => return Err(Failure::Usage("several inputs need --out-dir DIR".to_owned())),
        };
        let (pairs, indexes, copies, elsewhere) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut request = Self { pairs, indexes, copies, folder: None, elsewhere };
        for input in inputs {
            if input.is_dir() {
                request.add_input_folder(input, &output, args)?;
            } else if is_index(input) {
                request.add_index(input, &output, args)?;
            } else if args.out_dir.is_some() {
                request.pairs.push(into_folder(input, format(input, args.in_format)?, &output, args));
            } else {
                let input_format = format(input, args.in_format)?;
                let (target, output_format) = if output == Path::new("-") {
                    (Target::Stdout, args.out_format.unwrap_or(input_format))
                } else if output.is_dir() {
                    let what = format!("cannot write: it is a folder (--out-dir {} writes into it)", output.display());
                    return Err(Failure::at(&output, what));
                } else {
                    (Target::File(output.clone()), format_of_name(&output, args.out_format)?)
                };
                request.pairs.push(Pair { input: input.clone(), input_format, output: target, output_format });
            }
        }
        request.check_options(inputs, args)?;
        let has_folder = inputs.iter().any(|input| input.is_dir() || is_index(input));
        let is_path_of_folder = output.is_dir() || output.to_string_lossy().ends_with(is_separator);
        if has_folder && output == Path::new("-") {
            let what = "-: what is made of a folder or an index is a folder, and no pipe (./- stands for one)";
            return Err(Failure::Usage(what.to_owned()));
        }
        if has_folder && args.out_dir.is_none() && !is_path_of_folder && FileFormat::of(&output).is_ok() {
            let name = output.display();
            let what = "this is the name of a file, but what is made of a folder or an index is a folder";
            return Err(Failure::Usage(format!("{name}: {what} ({name}/ stands for one)")));
        }
        if has_folder || args.out_dir.is_some() {
            request.folder = Some(output);
        }
        Ok(request)
    }

    /// Refuses options that do not apply to the files.
    fn check_options(&self, inputs: &[PathBuf], args: &ConvertArgs) -> Result<(), Failure> {
        let mut formats = self.pairs.iter().map(|pair| pair.input_format).chain(self.elsewhere.iter().copied());
        args.from.check(formats.any(|format| format == FileFormat::Npz))?;
        options::check_formats(&self.pairs, &self.elsewhere, args)?;
        let has_folder = inputs.iter().any(|input| input.is_dir());
        if args.copy_others && !has_folder && self.indexes.is_empty() {
            return Err(Failure::Usage("--copy-others is for folders and indexes of sharded models".to_owned()));
        }
        for (option, format) in [("--in-format", args.in_format), ("--out-format", args.out_format)] {
            if !self.indexes.is_empty() && format.is_some_and(|format| format != FileFormat::Safetensors) {
                return Err(Failure::Usage(format!("{option}: the shards of a model are .safetensors files")));
            }
        }
        if args.part.is_some() && self.indexes.is_empty() {
            let what = "--part is for sharded models (a folder with an index, or the index)";
            return Err(Failure::Usage(what.to_owned()));
        }
        self.check_part(args)?;
        let is_read_from_pipe = |pair: &Pair| pair.input == Path::new("-") || is_special(&pair.input);
        if args.resume && self.pairs.iter().any(is_read_from_pipe) {
            let what = "--resume cannot be combined with input from a pipe or a device, which may be another one now";
            return Err(Failure::Usage(what.to_owned()));
        }
        let is_pipe = |pair: &Pair| match &pair.output {
            Target::Stdout => true,
            Target::File(path) => is_special(path),
        };
        let of_files = [
            (args.print.json, "--json"),
            (args.stats, "--stats"),
            (args.strict, "--strict"),
            (args.resume, "--resume"),
        ];
        match of_files.iter().find(|(given, _)| *given) {
            Some((_, option)) if self.pairs.iter().any(is_pipe) => {
                Err(Failure::Usage(format!("{option} cannot be combined with output to a pipe or a device")))
            }
            _ => Ok(()),
        }
    }
}

/// The conversion of a file to a file with the same name in a folder.
pub fn into_folder(input: &Path, input_format: FileFormat, folder: &Path, args: &ConvertArgs) -> Pair {
    let output_format = args.out_format.unwrap_or(input_format);
    let mut output = folder.join(input.file_name().unwrap_or_default());
    if output_format != input_format {
        output.set_extension(output_format.extension());
    }
    Pair { input: input.to_owned(), input_format, output: Target::File(output), output_format }
}

/// The format of an input, by an option or by the extension.
///
/// # Errors
/// There is no such file, its format is not named, or the file is known to have another format.
pub fn format(path: &Path, option: Option<FileFormat>) -> Result<FileFormat, Failure> {
    let known = format_of_name(path, option);
    if known.is_err() && path != Path::new("-") {
        std::fs::metadata(path).map_err(|error| Failure::at(path, error))?;
        advice::check_unnamed(path, false)?;
    }
    if option.is_none() && matches!(known, Ok(FileFormat::Bin)) {
        advice::check_unnamed(path, true)?;
    }
    known
}

fn format_of_name(path: &Path, option: Option<FileFormat>) -> Result<FileFormat, Failure> {
    match option {
        Some(format) => Ok(format),
        None if path == Path::new("-") => Err(Failure::Usage("-: add --in-format FORMAT".to_owned())),
        None => FileFormat::of(path),
    }
}

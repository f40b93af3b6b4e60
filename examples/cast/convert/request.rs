//! What a command line asks for: which files become which.

use std::path::{Path, PathBuf};

use super::inputs::{self, Index, Pair, Target};
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;

/// What is to be done.
pub struct Request {
    pub pairs: Vec<Pair>,
    pub index: Option<Index>,
    /// Other files of a model's folder.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// The folder of the outputs, if they go to one.
    pub folder: Option<PathBuf>,
}

impl Request {
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
        let mut request = Self { pairs: Vec::new(), index: None, copies: Vec::new(), folder: None };
        for input in inputs {
            if inputs::is_index(input) {
                request.add_model(input, &output, args)?;
            } else if input.is_dir() {
                match inputs::index_of(input) {
                    Some(index) => request.add_model(&index, &output, args)?,
                    None => request.add_folder(input, &output, args)?,
                }
            } else if args.out_dir.is_some() {
                let input_format = format(input, args.in_format)?;
                let output_format = args.out_format.unwrap_or(input_format);
                let name = Path::new(input.file_name().unwrap_or_default());
                let name = if output_format == input_format {
                    name.to_owned()
                } else {
                    name.with_extension(output_format.extension())
                };
                let output = Target::File(output.join(name));
                request.pairs.push(Pair { input: input.clone(), input_format, output, output_format });
            } else {
                let input_format = format(input, args.in_format)?;
                let (target, output_format) = if output == Path::new("-") {
                    (Target::Stdout, args.out_format.unwrap_or(input_format))
                } else if output.is_dir() {
                    return Err(Failure::at(&output, "cannot write: it is a folder"));
                } else {
                    (Target::File(output.clone()), format(&output, args.out_format)?)
                };
                request.pairs.push(Pair { input: input.clone(), input_format, output: target, output_format });
            }
        }
        let has_model = request.pairs.iter().any(|pair| pair.input_format == FileFormat::Onnx);
        let of_models =
            [(args.graph, "--graph"), (args.keep_io_types, "--keep-io-types"), (!args.keep.is_empty(), "--keep")];
        if let Some((_, option)) = of_models.iter().find(|(given, _)| *given && !has_model) {
            return Err(Failure::Usage(format!("{option} is for ONNX models")));
        }
        if args.part.is_some() && request.index.is_none() {
            return Err(Failure::Usage(
                "--part is for sharded models (a folder with an index, or the index)".to_owned(),
            ));
        }
        request.check_names()?;
        let to_stdout = request.pairs.iter().any(|pair| pair.output == Target::Stdout);
        let printed = [
            (args.print.json, "--json"),
            (args.stats, "--stats"),
            (args.strict, "--strict"),
            (args.resume, "--resume"),
        ];
        if let Some((_, option)) = printed.iter().find(|(given, _)| *given && to_stdout) {
            return Err(Failure::Usage(format!("{option} cannot be combined with output to a pipe (-)")));
        }
        if request.index.is_some() || args.out_dir.is_some() || inputs[0].is_dir() {
            request.folder = Some(output);
        }
        Ok(request)
    }

    /// The shards that an index names, and the other files of their folder.
    fn add_model(&mut self, path: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let index = Index::read(path)?;
        let shards = index.shards().map_err(|what| Failure::at(path, what))?;
        let sizes = shards.iter().map(|shard| {
            let shard = folder.join(shard);
            std::fs::metadata(&shard).map(|metadata| metadata.len()).map_err(|error| Failure::at(&shard, error))
        });
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let chosen = args.part.map_or_else(|| vec![true; shards.len()], |part| part.choose(&sizes));
        for (shard, _) in shards.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
            let format = FileFormat::Safetensors;
            let output = Target::File(output.join(shard));
            self.pairs.push(Pair { input: folder.join(shard), input_format: format, output, output_format: format });
        }
        if self.index.replace(index).is_some() {
            return Err(Failure::Usage("convert one sharded model at a time".to_owned()));
        }
        if args.copy_others && args.part.is_none_or(|part| part.index == 1) {
            let files = inputs::files_of(folder)?.into_iter().map(|(file, _)| file);
            let others = files.filter(|file| file != path && !shards.iter().any(|shard| file.ends_with(shard)));
            self.copies.extend(others.map(|file| (file.clone(), output.join(file.file_name().unwrap_or_default()))));
        }
        Ok(())
    }

    /// The files of a folder.
    fn add_folder(&mut self, folder: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let before = self.pairs.len();
        for (file, format) in inputs::files_of(folder)? {
            let name = Path::new(file.file_name().unwrap_or_default());
            match format {
                Some(format) => {
                    let output_format = args.out_format.unwrap_or(format);
                    let name = if output_format == format {
                        name.to_owned()
                    } else {
                        name.with_extension(output_format.extension())
                    };
                    let output = Target::File(output.join(name));
                    self.pairs.push(Pair { input: file.clone(), input_format: format, output, output_format });
                }
                None if args.copy_others => self.copies.push((file.clone(), output.join(name))),
                None => {}
            }
        }
        if self.pairs.len() == before {
            return Err(Failure::at(folder, "the folder has no file that can be converted"));
        }
        Ok(())
    }

    /// No two outputs have one name.
    fn check_names(&self) -> Result<(), Failure> {
        let mut names: Vec<_> = self.pairs.iter().map(|pair| &pair.output).collect();
        names.sort_by_key(|target| format!("{target:?}"));
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some([Target::File(path), _]) => {
                Err(Failure::Usage(format!("{}: two inputs have this output", path.display())))
            }
            _ => Ok(()),
        }
    }
}

/// The format that an option or the extension names.
pub fn format(path: &Path, option: Option<FileFormat>) -> Result<FileFormat, Failure> {
    match option {
        Some(format) => Ok(format),
        None if path == Path::new("-") => Err(Failure::Usage("-: add --in-format FORMAT".to_owned())),
        None => FileFormat::of(path),
    }
}

//! The command line.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use wgpu_cast::{DeviceChoice, ElementType, RoundMode, Route};

use crate::checks::verify::{RANDOM, SEED};
use crate::convert::{Pattern, Rules, ShardPart, SourceTypes};
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::help;
use crate::translate::Format;
use crate::types::NUMERIC_TYPE;

/// The name of the program in help, completions and messages.
pub const PROGRAM: &str = "wgpu-cast";

#[derive(Debug, Parser)]
#[command(name = PROGRAM, bin_name = PROGRAM, version, arg_required_else_help = true, after_help = help::EXIT_STATUS)]
/// Cast ONNX tensors between all element types, bit-exactly, on the CPU or on a GPU (through wgpu)
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the GPU adapters and show which one --device auto uses
    Adapters(AdaptersArgs),
    #[command(
        before_help = help::FEW_EXAMPLES,
        before_long_help = help::EXAMPLES,
        after_long_help = help::convert(),
        help_template = help::EXAMPLES_FIRST
    )]
    /// Cast the tensors in files and models to another element type
    Convert(Box<ConvertArgs>),
    /// Join the indexes of the parts of a sharded model (convert --part)
    MergeIndex(MergeArgs),
    #[command(after_long_help = help::INFO, mut_arg("given", |from| from.help(help::FROM_OF_INFO)))]
    /// List the tensors in files
    Info(InfoArgs),
    #[command(after_long_help = help::RUN)]
    /// Run an ONNX model that contains only Cast, CastLike, Identity and Constant nodes
    Run(RunArgs),
    #[command(after_long_help = help::SHADER)]
    /// Print the GPU kernel for a pair of element types, in WGSL or translated
    Shader(ShaderArgs),
    #[command(after_long_help = help::VERIFY)]
    /// Verify every cast on an adapter against the CPU implementation
    Verify(VerifyArgs),
    #[command(after_long_help = help::BENCH)]
    /// Measure the throughput of casts and compare it with a copy on the same adapter
    Bench(BenchArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write manual pages into a folder
    Man(ManArgs),
}

impl Command {
    /// Whether notes are not printed.
    pub fn is_quiet(&self) -> bool {
        match self {
            Command::Adapters(args) => args.print.is_silent(),
            Command::Convert(args) => args.print.is_silent(),
            Command::Run(args) => args.print.is_silent(),
            Command::Verify(args) => args.print.is_silent(),
            Command::Bench(args) => args.print.is_silent(),
            _ => false,
        }
    }

    /// Whether the command may look for GPU adapters.
    pub fn loads_drivers(&self) -> bool {
        match self {
            Command::Adapters(_) | Command::Run(_) | Command::Verify(_) | Command::Bench(_) => true,
            Command::Convert(args) => args.device.names_gpu(),
            _ => false,
        }
    }
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// Inputs, then the output: files, - for a pipe, folders, or the index of a sharded model
    /// (*.safetensors.index.json)
    #[arg(value_name = "IN... OUT", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write the outputs into this folder, under the names of the inputs; all paths are inputs then
    #[arg(short = 'd', long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
    #[command(flatten)]
    pub rules: Rules,
    #[command(flatten)]
    pub from: SourceTypes,
    /// Number of elements in a .bin IN [default: from the size of the file]
    #[arg(long, value_name = "N")]
    pub len: Option<u64>,
    /// Format of the inputs [default: from the extension]
    #[arg(long, value_name = "FORMAT")]
    pub in_format: Option<FileFormat>,
    /// Format of the outputs [default: from the extension]
    #[arg(long, value_name = "FORMAT")]
    pub out_format: Option<FileFormat>,
    /// Also copy the files of a folder that are not converted, such as configurations and tokenizers. In *config.json
    /// the new type is written (torch_dtype, dtype) if all floats have it. With --in-place, --quantize and --dequantize
    /// imply it for folders and indexes
    #[arg(long)]
    pub copy_others: bool,
    /// Convert only the I-th of N parts of a sharded model; `merge-index` then joins the indexes
    #[arg(long, value_name = "I/N", value_parser = ShardPart::parse)]
    pub part: Option<ShardPart>,
    /// ONNX models: convert the graph from --from (default float) to --to, both float, double, float16 or bfloat16;
    /// without it, initializers and constants are stored in the new type and cast back
    #[arg(long)]
    pub graph: bool,
    /// With --graph: the model's inputs and outputs keep their types
    #[arg(long, requires = "graph")]
    pub keep_io_types: bool,
    /// With --graph: nodes that keep their type, by operator or name; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = Pattern::parse, requires = "graph")]
    pub keep: Vec<Pattern>,
    /// ONNX models: initializers of at least this size go to OUT.data, and smaller ones into the model. Sizes below 1KiB
    /// may also move shapes and the scales of Resize there, which the onnx package's shape inference then refuses to read
    /// [default: those that were in such a file go there; beyond 2 GiB all from 1 KiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub external_from: Option<u64>,
    #[command(flatten)]
    pub attributes: Attributes,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Memory for the buffers of tensor data, such as 512MiB or 4GiB; headers, strings, ONNX graphs and the scales
    /// of --quantize take more
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1GiB")]
    pub memory: u64,
    /// Continue an interrupted conversion, after checking what is there; keep the partial file if it is interrupted
    #[arg(long)]
    pub resume: bool,
    /// Do not replace a file
    #[arg(long)]
    pub no_clobber: bool,
    /// Let an output replace the input of which it is made: a file or a folder is converted onto itself
    #[arg(long, conflicts_with = "no_clobber")]
    pub in_place: bool,
    /// Replace a read-only file
    #[arg(long, conflicts_with = "no_clobber")]
    pub force: bool,
    /// Print what would be done, tensor by tensor and file by file, and write nothing; fail if the run would be refused
    #[arg(long)]
    pub dry_run: bool,
    /// Print what each tensor lost, and the largest relative error of the values that are rounded
    #[arg(long)]
    pub stats: bool,
    /// Draw what each tensor lost into this SVG file
    #[arg(long, value_name = "FILE.svg", value_parser = svg_path(), conflicts_with = "dry_run")]
    pub plot: Option<PathBuf>,
    /// Fail, and write nothing, if a value is beyond the range of the type or a scale becomes 0
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub print: PrintArgs,
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folder with the converted parts
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder; created if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// Files, folders, indexes of sharded models, or - for a pipe
    #[arg(value_name = "FILE", required = true)]
    pub paths: Vec<PathBuf>,
    /// Format of the files [default: from the extension]
    #[arg(long, value_name = "FORMAT")]
    pub in_format: Option<FileFormat>,
    #[command(flatten)]
    pub from: SourceTypes,
    /// Print one JSON object for each tensor
    #[arg(long)]
    pub json: bool,
}

/// What is printed.
#[derive(Clone, Copy, Debug, Args)]
pub struct PrintArgs {
    /// Print only errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Print JSON on stdout, one object a line: one for each tensor, pair or adapter, and at the end (bench: first) one
    /// for all
    #[arg(long)]
    pub json: bool,
}

impl PrintArgs {
    /// Whether neither progress nor text is printed.
    pub fn is_silent(self) -> bool {
        self.quiet || self.json
    }
}

#[derive(Debug, Args)]
pub struct AdaptersArgs {
    #[command(flatten)]
    pub print: PrintArgs,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Model file: .onnx
    pub model: PathBuf,
    /// Input tensors in the graph's order: .pb or .npy; either all inputs, or only those without a default
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Folder for output_0.pb, output_1.pb, …; created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub print: PrintArgs,
}

/// The attributes of a Cast node, and the opset whose rules apply.
#[derive(Debug, Args)]
pub struct Attributes {
    /// FLOAT8 targets: convert out-of-range values to the largest finite value instead of infinity or NaN [default:
    /// true]
    #[arg(long, value_name = "true|false")]
    pub saturate: Option<bool>,
    /// FLOAT8E8M0 targets: round to a power of two up, down or nearest [default: up]
    #[arg(long, value_name = "MODE")]
    pub round_mode: Option<RoundMode>,
    /// ONNX opset whose rules for Cast apply [default: the newest]
    #[arg(long, value_name = "N")]
    pub opset: Option<i64>,
}

#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// Where to cast: the faster device (auto), any adapter including software ones (gpu), or the CPU (cpu) [default:
    /// auto; gpu for verify and bench]
    #[arg(long, value_enum, value_name = "auto|gpu|cpu", hide_possible_values = true)]
    device: Option<Device>,
    /// Use the first adapter whose name contains this text (case-insensitive); implies --device gpu
    #[arg(long, value_name = "SUBSTRING")]
    adapter: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Device {
    Auto,
    Gpu,
    Cpu,
}

impl ConvertArgs {
    /// Whether the files beside the tensors of a folder become outputs, too. Where scales come or go, they always do if the
    /// folder is converted onto itself: its configuration would be wrong otherwise.
    pub fn copies_others(&self, onto_itself: bool) -> bool {
        self.copy_others || onto_itself && self.changes_scales()
    }

    /// Whether scales come or go.
    pub fn changes_scales(&self) -> bool {
        self.rules.dequantize || self.rules.quantize.is_some()
    }

    /// The type to which a tensor is cast, in a file of several tensors; `None` if the tensor stays as it is.
    pub fn target(&self, name: &str, from: ElementType) -> Option<ElementType> {
        self.rules.target(name, from, self.from.plain())
    }

    /// The type to which the products of codes and their scales are cast; `None` if the codes stay as they are. `stored` is
    /// the type that the file has for the codes.
    pub fn product_target(&self, codes: &str, stored: Option<ElementType>) -> Option<ElementType> {
        self.rules.product_target(codes, stored, self.from.plain())
    }

    /// Whether a tensor becomes codes with scales.
    pub fn quantizes(&self, name: &str, stored: Option<ElementType>, shape: &[u64]) -> bool {
        self.rules.quantizes(name, stored, shape, self.from.plain())
    }
}

impl DeviceArgs {
    /// The device that the arguments name.
    ///
    /// # Errors
    /// An adapter together with the CPU.
    pub fn choice(&self) -> Result<DeviceChoice, Failure> {
        match (self.device, &self.adapter) {
            (Some(Device::Cpu), Some(_)) => {
                Err(Failure::Usage("--adapter cannot be combined with --device cpu".to_owned()))
            }
            (_, Some(name)) => Ok(DeviceChoice::Adapter(name.clone())),
            (Some(Device::Gpu), None) => Ok(DeviceChoice::Gpu),
            (Some(Device::Cpu), None) => Ok(DeviceChoice::Cpu),
            (Some(Device::Auto) | None, None) => Ok(DeviceChoice::Auto),
        }
    }

    /// Whether the arguments name a GPU.
    pub fn names_gpu(&self) -> bool {
        matches!(self.choice(), Ok(DeviceChoice::Gpu | DeviceChoice::Adapter(_)))
    }

    /// The argument that made a cast run where it did, if one did.
    pub fn reason(&self, route: Route) -> Option<String> {
        match (self.device, &self.adapter, route) {
            (_, Some(name), Route::Gpu) => Some(format!("--adapter {name}")),
            (Some(Device::Gpu), None, Route::Gpu) => Some("--device gpu".to_owned()),
            (Some(Device::Cpu), None, Route::Cpu) => Some("--device cpu".to_owned()),
            _ => None,
        }
    }

    /// The adapter that the arguments name, for a command that needs one. By default it is any adapter.
    ///
    /// # Errors
    /// The arguments name the CPU.
    pub fn adapter_choice(&self) -> Result<DeviceChoice, Failure> {
        match self.choice()? {
            DeviceChoice::Cpu => Err(Failure::Usage("--device cpu: this command needs a GPU adapter".to_owned())),
            DeviceChoice::Auto => Ok(DeviceChoice::Gpu),
            choice => Ok(choice),
        }
    }
}

#[derive(Debug, Args)]
pub struct ShaderArgs {
    /// Source element type
    #[arg(long, value_name = "TYPE", value_parser = NUMERIC_TYPE, hide_possible_values = true)]
    pub from: ElementType,
    /// Destination element type
    #[arg(long, value_name = "TYPE", value_parser = NUMERIC_TYPE, hide_possible_values = true)]
    pub to: ElementType,
    #[command(flatten)]
    pub attributes: Attributes,
    /// Print the edge kernel, which casts small tensors and the ends of large ones
    #[arg(long)]
    pub edge: bool,
    /// Print the kernel for software adapters, which computes most values that GPUs look up in tables
    #[arg(long, conflicts_with = "edge")]
    pub computed: bool,
    /// Output language
    #[arg(long, value_parser = format(), default_value = "wgsl")]
    pub format: Format,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Source element type [default: all]
    #[arg(long, value_name = "TYPE", value_parser = NUMERIC_TYPE, hide_possible_values = true)]
    pub from: Option<ElementType>,
    /// Destination element type [default: all]
    #[arg(long, value_name = "TYPE", value_parser = NUMERIC_TYPE, hide_possible_values = true)]
    pub to: Option<ElementType>,
    /// Number of random codes for each source wider than 16 bits, in addition to the edge cases
    #[arg(long, value_name = "N", default_value_t = RANDOM, value_parser = value_parser!(u32).range(..=1 << 26))]
    pub random: u32,
    /// Cast every code of sources of at most 32 bits, and millions of 64 bits, and print a checksum for each cast; on
    /// --device cpu only the checksums are compared
    #[arg(long, conflicts_with_all = ["random", "seed"], group = "all_inputs")]
    pub exhaustive: bool,
    /// Do the exhaustive casts whose checksums are recorded, and compare only the checksums: a few minutes
    #[arg(long, conflicts_with_all = ["random", "seed", "exhaustive"], group = "all_inputs")]
    pub checksums: bool,
    /// Keep the checksums of blocks in this file; an interrupted run with the same file goes on where it was
    #[arg(long, value_name = "FILE", requires = "all_inputs")]
    pub record: Option<PathBuf>,
    /// Print a report in Markdown: adapter, driver, limits, what was cast, checksums, the first wrong results
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    pub report: bool,
    /// Seed of the random codes
    #[arg(long, value_name = "S", default_value_t = SEED)]
    pub seed: u64,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub print: PrintArgs,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Source element type [default: all]
    #[arg(long, value_name = "TYPE", value_parser = NUMERIC_TYPE, hide_possible_values = true)]
    pub from: Option<ElementType>,
    /// Destination element type [default: all]
    #[arg(long, value_name = "TYPE", value_parser = NUMERIC_TYPE, hide_possible_values = true)]
    pub to: Option<ElementType>,
    /// Elements per cast, or several numbers separated by commas; reduced to what the adapter's buffers hold
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "16777216", value_parser = value_parser!(u64).range(1..=1 << 32))]
    pub elements: Vec<u64>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Reads the name of a picture.
fn svg_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let is_svg = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
        if is_svg { Ok(path) } else { Err("the picture's name must end with .svg") }
    })
}

/// Parses a number of bytes: `1073741824`, `512MiB`, `2G`. All units are binary.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err("expected a number of bytes such as 512MiB".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number of bytes such as 512MiB".to_owned())?;
    number.checked_mul(1 << power).filter(|&bytes| bytes > 0).ok_or_else(|| "out of range".to_owned())
}

/// Reads the name of a language, which must be a known one.
fn format() -> impl TypedValueParser<Value = Format> {
    let known = |name: String| Format::ALL.into_iter().find(|format| format.name() == name).expect("a possible value");
    PossibleValuesParser::new(Format::ALL.map(Format::name)).map(known)
}

//! The command line.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use support::translate::Format;
use wgpu_cast::{DeviceChoice, ElementType, RoundMode};

use crate::failure::Failure;
use crate::help;

#[derive(Debug, Parser)]
#[command(name = "cast", version, arg_required_else_help = true, after_help = help::EXIT_STATUS)]
/// ONNX Cast on any GPU that wgpu reaches: every element type to every other, bit-exact
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the adapters, and say which one would be chosen and why
    Adapters,
    #[command(after_long_help = help::convert())]
    /// Cast the tensor in one file into another
    Convert(ConvertArgs),
    #[command(after_long_help = help::RUN)]
    /// Run an ONNX model whose nodes are all Cast, CastLike, Identity or Constant
    Run(RunArgs),
    #[command(after_long_help = help::SHADER)]
    /// Print the kernel of a pair: the WGSL exactly as it runs, or a translation
    Shader(ShaderArgs),
    #[command(after_long_help = help::VERIFY)]
    /// Prove an adapter: every cast on it against the CPU path, bit for bit
    Verify(VerifyArgs),
    #[command(after_long_help = help::BENCH)]
    /// Measure casts in GB/s next to a plain copy on the same adapter
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// File to read: .npy, .pb or .bin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write: .npy, .pb or .bin; it appears whole or not at all
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Element type to cast to
    #[arg(long, value_name = "TYPE", value_parser = any_type)]
    pub to: ElementType,
    /// Element type of IN: needed for .bin, and for .npy and .pb that hold raw codes
    #[arg(long, value_name = "TYPE", value_parser = any_type)]
    pub from: Option<ElementType>,
    /// Elements in a .bin IN [default: as many as its bytes hold]
    #[arg(long, value_name = "N")]
    pub len: Option<u64>,
    #[command(flatten)]
    pub attributes: Attributes,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Model to run: .onnx
    pub model: PathBuf,
    /// Its inputs in the graph's order: .pb or .npy; those that have a default may be left out, all or none of them
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Folder for output_0.pb, output_1.pb …; it is made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// The attributes of a Cast node, and the opset that says which there are.
#[derive(Debug, Args)]
pub struct Attributes {
    /// FLOAT8 targets: the largest number instead of NaN or infinity for what is out of range [default: true]
    #[arg(long, value_name = "true|false")]
    pub saturate: Option<bool>,
    /// FLOAT8E8M0: how to round to a power of two, one of up, down, nearest [default: up]
    #[arg(long, value_name = "MODE")]
    pub round_mode: Option<RoundMode>,
    /// ONNX opset whose Cast to follow
    #[arg(long, value_name = "N", default_value_t = wgpu_cast::onnx::NEWEST_OPSET)]
    pub opset: i64,
}

#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// Where to cast; gpu takes any adapter, software ones too, and fails where there is none [default: auto, but gpu
    /// for verify and bench]
    #[arg(long, value_enum, value_name = "auto|gpu|cpu", hide_possible_values = true)]
    device: Option<Device>,
    /// The first adapter whose name contains this text, upper or lower case; implies --device gpu
    #[arg(long, value_name = "SUBSTRING")]
    adapter: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Device {
    Auto,
    Gpu,
    Cpu,
}

impl DeviceArgs {
    /// What was asked for.
    ///
    /// # Errors
    /// An adapter together with the CPU.
    pub fn choice(&self) -> Result<DeviceChoice, Failure> {
        match (self.device, &self.adapter) {
            (Some(Device::Cpu), Some(_)) => {
                Err(Failure::Usage("--adapter asks for a GPU and --device cpu for none".to_owned()))
            }
            (_, Some(name)) => Ok(DeviceChoice::Adapter(name.clone())),
            (Some(Device::Gpu), None) => Ok(DeviceChoice::Gpu),
            (Some(Device::Cpu), None) => Ok(DeviceChoice::Cpu),
            (Some(Device::Auto) | None, None) => Ok(DeviceChoice::Auto),
        }
    }

    /// What was asked for by a command that is about adapters, and takes any by default.
    ///
    /// # Errors
    /// The CPU asked for.
    pub fn adapter_choice(&self) -> Result<DeviceChoice, Failure> {
        match self.choice()? {
            DeviceChoice::Cpu => Err(Failure::Usage("--device cpu: this command is about adapters".to_owned())),
            DeviceChoice::Auto => Ok(DeviceChoice::Gpu),
            choice => Ok(choice),
        }
    }
}

#[derive(Debug, Args)]
pub struct ShaderArgs {
    /// Source element type
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub from: ElementType,
    /// Destination element type
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub to: ElementType,
    #[command(flatten)]
    pub attributes: Attributes,
    /// The small kernel for the ends of tensors and for small ones, instead of the fast one
    #[arg(long)]
    pub edge: bool,
    /// The fast kernel of software adapters, which computes most of what GPUs look up in workgroup memory
    #[arg(long, conflicts_with = "edge")]
    pub computed: bool,
    /// Language to print
    #[arg(long, value_parser = format(), default_value = "wgsl")]
    pub format: Format,
    /// File to write instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Only this source element type [default: each]
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub from: Option<ElementType>,
    /// Only this destination element type [default: each]
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub to: Option<ElementType>,
    /// Random codes of each source wider than 16 bits, besides the hard cases
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = value_parser!(u32).range(..=1 << 26))]
    pub random: u32,
    /// Seed of the random codes
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub device: DeviceArgs,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Source element type [default: each]
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub from: Option<ElementType>,
    /// Destination element type [default: each]
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub to: Option<ElementType>,
    /// Elements of a cast; fewer where the adapter's buffers do not hold them
    #[arg(long, value_name = "N", default_value_t = 1 << 24, value_parser = value_parser!(u64).range(1..=1 << 32))]
    pub elements: u64,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Reads the name of a language, which has to be one that there is.
fn format() -> impl TypedValueParser<Value = Format> {
    let known = |name: String| Format::ALL.into_iter().find(|format| format.name() == name).expect("a possible value");
    PossibleValuesParser::new(Format::ALL.map(Format::name)).map(known)
}

/// Reads the name of an element type; an unknown one is answered with the nearest.
fn any_type(text: &str) -> Result<ElementType, String> {
    text.parse().map_err(|error| format!("{error}, the nearest known one is {}", nearest(text)))
}

/// Reads the name of a numeric element type, as [`any_type`].
fn element_type(text: &str) -> Result<ElementType, String> {
    match any_type(text)? {
        known if known.is_numeric() => Ok(known),
        known => Err(format!("{known} is not a numeric element type")),
    }
}

/// The element type one of whose names takes the fewest keystrokes to get from `text`.
fn nearest(text: &str) -> ElementType {
    let text = text.to_lowercase().replace(['_', '-'], "");
    let names = |t: ElementType| std::iter::once(t.name()).chain(t.aliases().iter().copied());
    let distance = |t: ElementType| names(t).map(|name| strsim::damerau_levenshtein(name, &text)).min();
    ElementType::ALL.iter().copied().min_by_key(|&t| distance(t)).unwrap_or(ElementType::FLOAT)
}

/// Every numeric element type.
pub fn numeric() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|t| t.is_numeric())
}

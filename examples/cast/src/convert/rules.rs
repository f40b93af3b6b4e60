//! Which tensors are cast, and to which type.

use clap::{ArgGroup, Args};
use globset::{GlobBuilder, GlobMatcher};
use wgpu_cast::{ElementType, Kind};
use wgpu_cast_files::SafetensorsFile;

use super::quantize::{self, Layout};
use super::scales::plain_name;
use crate::types::{ANY_TYPE, any_type};

/// A pattern of tensor names. `*` matches any text, including dots and slashes. All other characters stand for
/// themselves, because names such as `['params']['scale']` have brackets.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// The text is no pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut glob = text.split('*').map(globset::escape).collect::<Vec<_>>().join("*");
        // For globset, `**` between slashes would mean folders.
        while glob.contains("**") {
            glob = glob.replace("**", "*");
        }
        let glob = GlobBuilder::new(&glob).backslash_escape(false).build().map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// The text of the pattern.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

/// `GLOB=TYPE`: the type of the tensors that match, or `keep`.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub pattern: Pattern,
    pub to: Option<ElementType>,
}

impl Mapping {
    /// Parses `GLOB=TYPE`.
    ///
    /// # Errors
    /// There is no `=`, or a side is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (pattern, to) = text.rsplit_once('=').ok_or("expected GLOB=TYPE")?;
        let to = if to == "keep" { None } else { Some(any_type(to)?) };
        Ok(Self { pattern: Pattern::parse(pattern)?, to })
    }

    /// Parses `GLOB=TYPE`, where `keep` is no type.
    ///
    /// # Errors
    /// As [`Mapping::parse`].
    pub fn of_type(text: &str) -> Result<Self, String> {
        let mapping = Self::parse(text)?;
        if mapping.to.is_some() { Ok(mapping) } else { Err("expected GLOB=TYPE".to_owned()) }
    }
}

/// What the rules say about a name, independent of the type of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A mapping gives the type.
    Mapped(ElementType),
    /// `--to` applies if it applies to the type of the tensor. `by_its_name`: an `--only` is exactly this name.
    Listed { to: ElementType, by_its_name: bool },
    /// The tensor stays as it is.
    Kept,
}

/// The rules of a conversion.
#[derive(Clone, Debug, Default, Args)]
#[command(group(ArgGroup::new("type").args(["to", "quantize"]).multiple(true)))]
pub struct Rules {
    /// Element type to cast to. In files of several tensors, only floats are cast to it
    #[arg(long, value_name = "TYPE", value_parser = ANY_TYPE, hide_possible_values = true, required_unless_present_any = ["map", "dequantize", "quantize"])]
    pub to: Option<ElementType>,
    /// Apply --to or --quantize only to tensors whose names match; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = Pattern::parse, requires = "type")]
    pub only: Vec<Pattern>,
    /// Do not apply --to or --quantize to tensors whose names match; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = Pattern::parse, requires = "type")]
    pub except: Vec<Pattern>,
    /// Element type of tensors whose names match, integers included, or `keep`; the first of several that matches
    /// counts
    #[arg(long, value_name = "GLOB=TYPE", value_parser = Mapping::parse)]
    pub map: Vec<Mapping>,
    /// float16, bfloat16 and float targets: convert values beyond the range to the largest finite value instead of
    /// infinity
    #[arg(long)]
    pub clamp: bool,
    /// Cast codes that are stored with scales as if they were values, and leave the scales as they are
    #[arg(long)]
    pub ignore_scales: bool,
    /// Checkpoints in .safetensors: multiply codes by their scales, cast the products to --to [default: bfloat16], and
    /// write neither scales nor quantization_config
    #[arg(long, conflicts_with = "ignore_scales")]
    pub dequantize: bool,
    /// Checkpoints in .safetensors: write weights of linear layers as --to [default: float8e4m3fn] with a scale for each
    /// tensor, row or block, and quantization_config; all else stays as it is
    #[arg(long, value_enum, value_name = "tensor|row|block", hide_possible_values = true, conflicts_with_all = ["ignore_scales", "dequantize"])]
    pub quantize: Option<Layout>,
}

impl Rules {
    /// The rules as text. Equal rules have equal texts.
    pub fn text(&self) -> String {
        let name = |to: Option<ElementType>| to.map_or("keep", ElementType::name);
        let patterns = |patterns: &[Pattern]| patterns.iter().map(|p| p.text().to_owned()).collect::<Vec<_>>();
        let map: Vec<_> = self.map.iter().map(|map| (map.pattern.text(), name(map.to))).collect();
        let [only, except] = [&self.only, &self.except].map(|list| patterns(list));
        let flags = [self.clamp, self.ignore_scales, self.dequantize];
        format!("{} {only:?} {except:?} {map:?} {flags:?} {:?}", name(self.to), self.quantize)
    }

    /// The type to which a tensor is cast; `None` if it stays as it is, also if it has the type already. Integers and
    /// BOOL are cast only in two cases: a mapping says so, or `only_from` names their type. With `only_from`, `to`
    /// applies only to that type. With `quantize`, `to` applies only to weights.
    pub fn target(&self, name: &str, from: ElementType, only_from: Option<ElementType>) -> Option<ElementType> {
        let is_meant = only_from.map_or(matches!(from.kind(), Kind::Float(_)), |only| only == from);
        let to = match self.wanted(name) {
            Wanted::Mapped(to) => Some(to),
            Wanted::Listed { to, .. } => Some(to).filter(|_| is_meant && self.quantize.is_none()),
            Wanted::Kept => None,
        };
        to.filter(|&to| to != from)
    }

    /// The type to which the products of codes and their scales are cast; `None` if the codes stay as they are. Patterns
    /// choose the tensor by its name in the output. `stored` is the type that the file has for the codes.
    pub fn product_target(
        &self,
        codes: &str,
        stored: Option<ElementType>,
        only_from: Option<ElementType>,
    ) -> Option<ElementType> {
        if !self.dequantize || only_from.is_some_and(|only| stored != Some(only)) {
            return None;
        }
        let name = plain_name(codes);
        let is_mapped = self.map.iter().any(|mapping| mapping.pattern.matches(name));
        match self.wanted(name) {
            Wanted::Mapped(to) | Wanted::Listed { to, .. } => Some(to),
            Wanted::Kept if self.to.is_some() || is_mapped => None,
            Wanted::Kept => Some(ElementType::BFLOAT16),
        }
    }

    /// Whether a tensor becomes codes with scales: a weight that `--to` chooses, or one that a mapping names.
    pub fn quantizes(
        &self,
        name: &str,
        stored: Option<ElementType>,
        shape: &[u64],
        only_from: Option<ElementType>,
    ) -> bool {
        self.quantize.is_some()
            && match self.wanted(name) {
                Wanted::Mapped(to) => to == quantize::CODES && stored != Some(to),
                Wanted::Listed { .. } => {
                    quantize::is_weight(name, stored, shape) && only_from.is_none_or(|only| stored == Some(only))
                }
                Wanted::Kept => false,
            }
    }

    /// Whether a mapping gives a type to the tensor.
    pub fn maps(&self, name: &str) -> bool {
        matches!(self.wanted(name), Wanted::Mapped(_))
    }

    /// Refuses complex numbers that the user names or maps, because they cannot be cast.
    ///
    /// # Errors
    /// The first such tensor, and the reason.
    pub fn check_complex(&self, file: &SafetensorsFile) -> Result<(), String> {
        let tensors = file.tensors().iter().map(|tensor| (tensor.name.as_str(), tensor.element_type));
        self.check_types(tensors, "complex numbers are")
    }

    /// Refuses tensors without an element type that the user names or maps. `what` says what these are, and ends with a verb.
    ///
    /// # Errors
    /// The first such tensor, and the reason.
    pub fn check_types<'a>(
        &self,
        tensors: impl IntoIterator<Item = (&'a str, Option<ElementType>)>,
        what: &str,
    ) -> Result<(), String> {
        let is_meant =
            |name: &str| matches!(self.wanted(name), Wanted::Mapped(_) | Wanted::Listed { by_its_name: true, .. });
        let mut others = tensors.into_iter().filter(|(_, element_type)| element_type.is_none());
        others.find(|(name, _)| is_meant(name)).map_or(Ok(()), |(name, _)| {
            Err(format!("{name}: {what} not cast (before other rules, --map '{name}=keep' leaves them)"))
        })
    }

    /// What the rules say of a name.
    pub fn wanted(&self, name: &str) -> Wanted {
        if let Some(mapping) = self.map.iter().find(|mapping| mapping.pattern.matches(name)) {
            return mapping.to.map_or(Wanted::Kept, Wanted::Mapped);
        }
        let listed = self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(name));
        let excepted = self.except.iter().any(|pattern| pattern.matches(name));
        let by_its_name = self.only.iter().any(|pattern| pattern.text() == name);
        match self.to.or(self.quantize.map(|_| quantize::CODES)) {
            Some(to) if listed && !excepted => Wanted::Listed { to, by_its_name },
            _ => Wanted::Kept,
        }
    }
}

//! Element types that files do not contain.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command};
use wgpu_cast::ElementType;

use super::rules::{Mapping, Pattern};
use crate::failure::Failure;
use crate::types::{ANY_TYPE, any_type};

/// The element types of the inputs, as `--from` gives them.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceTypes {
    /// Element type of the input; required for .bin, and for .npy, .npz and .pb files that contain raw codes. In files
    /// of several tensors, --to applies only to tensors of this type. GLOB=TYPE is the type of the arrays of an archive
    /// whose names match, to which --to then applies; may be repeated, the first that matches counts
    #[arg(long = "from", value_name = "TYPE", value_parser = GivenParser, hide_possible_values = true)]
    given: Vec<Given>,
}

/// One `--from`.
#[derive(Clone, Debug)]
enum Given {
    Plain(ElementType),
    Named(Mapping),
}

impl Given {
    fn parse(text: &str) -> Result<Self, String> {
        if text.contains('=') { Mapping::of_type(text).map(Self::Named) } else { any_type(text).map(Self::Plain) }
    }
}

/// Parses one `--from`. Shells offer the names of types.
#[derive(Clone, Copy, Debug)]
struct GivenParser;

impl TypedValueParser for GivenParser {
    type Value = Given;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Given, clap::Error> {
        Given::parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        ANY_TYPE.possible_values()
    }
}

impl SourceTypes {
    /// The type for all inputs.
    pub fn plain(&self) -> Option<ElementType> {
        self.given.iter().find_map(|given| match given {
            Given::Plain(element_type) => Some(*element_type),
            Given::Named(_) => None,
        })
    }

    /// The type of the array with this name.
    pub fn named(&self, name: &str) -> Option<ElementType> {
        self.mappings().find(|mapping| mapping.pattern.matches(name)).and_then(|mapping| mapping.to)
    }

    /// The patterns for which `--from` gives a type.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.mappings().map(|mapping| &mapping.pattern)
    }

    fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        self.given.iter().filter_map(|given| match given {
            Given::Named(mapping) => Some(mapping),
            Given::Plain(_) => None,
        })
    }

    /// Refuses contradictions, and types by name if no input is an archive.
    ///
    /// # Errors
    /// A usage error.
    pub fn check(&self, has_archives: bool) -> Result<(), Failure> {
        if self.given.iter().filter(|given| matches!(given, Given::Plain(_))).count() > 1 {
            return Err(Failure::Usage("--from TYPE is given twice".to_owned()));
        }
        match self.patterns().next() {
            Some(_) if !has_archives => Err(Failure::Usage("--from GLOB=TYPE is for .npz archives".to_owned())),
            _ => Ok(()),
        }
    }
}

//! Which cast: its types and options.

use crate::types::element::ElementType;
use crate::types::options::CastOptions;

/// The types and options of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CastSpec {
    /// Source element type.
    pub from: ElementType,
    /// Destination element type.
    pub to: ElementType,
    /// The options.
    pub options: CastOptions,
}

impl CastSpec {
    /// A cast with the default options.
    pub fn new(from: ElementType, to: ElementType) -> Self {
        Self { from, to, options: CastOptions::default() }
    }

    /// This cast with other options.
    #[must_use]
    pub fn with_options(self, options: CastOptions) -> Self {
        Self { options, ..self }
    }
}

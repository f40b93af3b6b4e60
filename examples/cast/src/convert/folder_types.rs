//! The types of the tensors in each folder, which its configuration names.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use wgpu_cast::{ElementType, Kind};

use super::index::Shards;
use super::index_output::IndexOutput;
use super::plan::Task;
use super::quantize::{Layout, is_matrix, module};
use super::report::TensorReport;
use super::scales::{ScaleRole, Scales};
use crate::args::ConvertArgs;

/// The float types of the tensors in a folder after the conversion.
#[derive(Debug, Default)]
pub struct FolderTypes {
    pub floats: BTreeSet<ElementType>,
    pub is_cast: bool,
    has_products: bool,
    /// Whether some codes keep their scales.
    pub keeps_scales: bool,
    /// The layout of the weights that get scales, if some do.
    pub quantized: Option<Layout>,
    /// The layers whose weights are matrices and get no scales.
    pub kept_layers: BTreeSet<String>,
}

impl FolderTypes {
    /// Adds a tensor, and the type to which it is cast.
    pub fn add(&mut self, from: Option<ElementType>, to: Option<ElementType>) {
        let is_float = from.is_some_and(|from| matches!(from.kind(), Kind::Float(_)));
        self.floats.extend(to.or(from).filter(|_| is_float));
        self.is_cast |= to.is_some();
    }

    /// Adds a tensor of products of codes and scales, and the type to which they are cast.
    pub fn add_product(&mut self, to: Option<ElementType>) {
        self.add(Some(ElementType::FLOAT), to);
        self.has_products = true;
    }

    /// Adds a tensor of a conversion in which weights get scales.
    fn add_weight(&mut self, layout: Layout, name: &str, shape: &[u64], is_quantized: bool) {
        if is_quantized {
            (self.quantized, self.is_cast) = (Some(layout), true);
        } else if is_matrix(name, shape) {
            self.kept_layers.insert(module(name).to_owned());
        }
    }

    /// Whether there are no codes with scales any more.
    pub fn is_dequantized(&self) -> bool {
        self.has_products && !self.keeps_scales
    }
}

/// The types of the tensors in each folder, including those of the other parts of a sharded model.
pub fn types_by_folder<'a>(
    tasks: &[Task],
    models: impl Iterator<Item = (&'a IndexOutput, &'a Shards)>,
    args: &ConvertArgs,
) -> HashMap<PathBuf, FolderTypes> {
    let mut types: HashMap<PathBuf, FolderTypes> = HashMap::new();
    // Scales do not count: their type is independent of the other tensors.
    let is_scale = |tensor: &&TensorReport| tensor.role.as_ref().is_some_and(ScaleRole::is_scale);
    for task in tasks {
        let folder = task.sources.first().and_then(|source| source.path.parent()).unwrap_or(Path::new(""));
        let tensors = task.tensors.iter().filter(|tensor| !is_scale(tensor));
        for tensor in tensors {
            let folder = types.entry(folder.to_owned()).or_default();
            match &tensor.role {
                // The products are FLOAT.
                Some(ScaleRole::Applied(_)) => folder.add_product(tensor.to),
                _ => folder.add(tensor.from, tensor.to),
            }
            folder.keeps_scales |= matches!(tensor.role, Some(ScaleRole::ScaledBy(_)));
            if let Some(layout) = args.rules.quantize {
                let is_quantized = matches!(tensor.role, Some(ScaleRole::DividedBy(_)));
                folder.add_weight(layout, &tensor.name, &tensor.shape, is_quantized);
            }
        }
    }
    for (output, shards) in models {
        let folder = types.entry(output.source.clone()).or_default();
        let types = shards.tensors.iter().map(|(name, from, _)| (name.clone(), *from));
        let scales = Scales::new(&types.collect(), None);
        let is_scale = |name, from| scales.role(name, from).as_ref().is_some_and(ScaleRole::is_scale);
        for (name, from, shape) in shards.tensors.iter().filter(|(name, from, _)| !is_scale(name, *from)) {
            if let Some(layout) = args.rules.quantize {
                folder.add_weight(layout, name, shape, args.quantizes(name, *from, shape));
            }
            let product = scales.codes_type(name).and_then(|stored| args.product_target(name, stored));
            match product {
                Some(to) => folder.add_product(Some(to)),
                None => folder.add(*from, from.and_then(|from| args.target(name, from))),
            }
            folder.keeps_scales |= product.is_none() && scales.codes_type(name).is_some();
        }
    }
    types
}

//! The types of the tensors in each folder, which its configuration names.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use wgpu_cast::{ElementType, Kind};

use super::index::Shards;
use super::index_output::IndexOutput;
use super::plan::Task;
use super::quantize::Layout;
use super::report::TensorReport;
use super::scales::{ScaleRole, Scales, module};
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
    /// The tensors that get scales.
    weights: BTreeSet<String>,
    /// The other tensors of floats that have two axes or more.
    others: BTreeSet<String>,
}

/// The output layer of language models. If it has no tensor, it computes with the embedding, which has no scale.
const OUTPUT_LAYER: &str = "lm_head";

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

    /// Adds a tensor of a conversion in which weights get scales. The type of such a weight counts as it was, because the
    /// model computes in it.
    fn add_weight(&mut self, layout: Layout, name: &str, from: Option<ElementType>) {
        self.add(from, None);
        self.quantized = Some(layout);
        self.weights.insert(name.to_owned());
    }

    /// Adds a tensor that gets no scale, and the type to which it is cast.
    fn add_other(&mut self, name: &str, shape: &[u64], from: Option<ElementType>, to: Option<ElementType>) {
        self.add(from, to);
        if shape.len() >= 2 && from.is_some_and(|from| matches!(from.kind(), Kind::Float(_))) {
            self.others.insert(name.to_owned());
        }
    }

    /// The layers for which readers must expect no scales.
    pub fn kept_layers(&self) -> BTreeSet<&str> {
        let is_output = |weight: &String| module(weight).rsplit('.').next() == Some(OUTPUT_LAYER);
        let output = (!self.weights.iter().any(is_output)).then_some(OUTPUT_LAYER);
        self.others.iter().map(|name| self.layer(name)).chain(output).collect()
    }

    /// The layers with scales whose names end with one of these parts.
    pub fn layers_with_scales<'a>(&'a self, parts: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let layers = self.weights.iter().map(|weight| module(weight));
        layers.filter(|layer| layer.rsplit('.').next().is_some_and(|part| parts.contains(&part)))
    }

    /// The layer of a tensor that gets no scale. One that is no `weight`, such as the experts of a layer in one tensor,
    /// belongs to the layer before the last point. transformers takes a name for all that begins with it, so that the tensor
    /// itself is listed if weights with scales do.
    fn layer<'a>(&self, name: &'a str) -> &'a str {
        let weights = |outer: &str| self.weights.range::<str, _>((Bound::Included(outer), Bound::Unbounded));
        let has_scales = |outer: &str| weights(outer).next().is_some_and(|weight| weight.starts_with(outer));
        match (module(name), name.rsplit_once('.')) {
            (layer, _) if layer != name => layer,
            (_, Some((outer, _))) if !has_scales(outer) => outer,
            _ => name,
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
            match (&tensor.role, args.rules.quantize) {
                // The products are FLOAT.
                (Some(ScaleRole::Applied(_)), _) => folder.add_product(tensor.to),
                (Some(ScaleRole::DividedBy(_)), Some(layout)) => folder.add_weight(layout, &tensor.name, tensor.from),
                (_, Some(_)) => folder.add_other(&tensor.name, &tensor.shape, tensor.from, tensor.to),
                _ => folder.add(tensor.from, tensor.to),
            }
            folder.keeps_scales |= matches!(tensor.role, Some(ScaleRole::ScaledBy(_)));
        }
    }
    for (output, shards) in models {
        let folder = types.entry(output.source.clone()).or_default();
        let types = shards.tensors.iter().map(|(name, from, _)| (name.clone(), *from));
        let scales = Scales::new(&types.collect(), None);
        let is_scale = |name, from| scales.role(name, from).as_ref().is_some_and(ScaleRole::is_scale);
        for (name, from, shape) in shards.tensors.iter().filter(|(name, from, _)| !is_scale(name, *from)) {
            let to = from.and_then(|from| args.target(name, from));
            let product = scales.codes_type(name).and_then(|stored| args.product_target(name, stored));
            match (product, args.rules.quantize) {
                (Some(to), _) => folder.add_product(Some(to)),
                (None, Some(layout)) if args.quantizes(name, *from, shape) => folder.add_weight(layout, name, *from),
                (None, Some(_)) => folder.add_other(name, shape, *from, to),
                (None, None) => folder.add(*from, to),
            }
            folder.keeps_scales |= product.is_none() && scales.codes_type(name).is_some();
        }
    }
    types
}

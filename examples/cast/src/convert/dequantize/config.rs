//! What the configuration of a model says about its scales.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::convert::inputs;
use crate::convert::scales::CONFIGURATIONS;
use crate::failure::Failure;

/// The longest configuration that is read.
pub const LONGEST: u64 = 16 << 20;

/// The configuration of a model's quantization.
#[derive(Clone, Debug)]
pub struct Config {
    /// The member and the file, as text.
    pub told: String,
    /// What wrote the model.
    method: Option<String>,
    value: Value,
}

/// The codes of weights and their blocks, as a group of compressed-tensors' configuration gives them.
#[derive(Debug, PartialEq)]
pub struct Weights {
    pub bits: Option<u64>,
    pub is_float: bool,
    /// Whether the codes have zero points.
    pub is_asymmetric: bool,
    pub strategy: String,
    pub group: Option<u64>,
    pub block: Option<[u64; 2]>,
}

impl Config {
    /// Reads the configuration in the folder of a model, if there is one.
    ///
    /// # Errors
    /// A file of this name cannot be read, or is not JSON.
    pub fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        for (name, key) in &CONFIGURATIONS {
            let path = folder.join(name);
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let text = inputs::read_text(&path, "the configuration", LONGEST)?;
            let content: Value = serde_json::from_str(&text)
                .map_err(|error| Failure::at(&path, format!("the configuration is not JSON: {error}")))?;
            let Some(value) =
                content.get(key).filter(|value| value.as_object().is_some_and(|object| !object.is_empty()))
            else {
                continue;
            };
            let method = match *key {
                "quantization" => Some("modelopt"),
                "compression_config" => Some("compressed-tensors"),
                _ => value["quant_method"].as_str(),
            };
            let told = format!("{key:?} in {}", path.display());
            return Ok(Some(Self { told, method: method.map(str::to_owned), value: value.clone() }));
        }
        Ok(None)
    }

    /// The program that wrote the model.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or("")
    }

    /// `weight_block_size`: `None` if there is no such member, `Some(None)` if the scales are of whole tensors.
    pub fn block_size(&self) -> Option<Option<[u64; 2]>> {
        match &self.value["weight_block_size"] {
            Value::Null => self.value.get("weight_block_size").map(|_| None),
            value => Some(pair(value)),
        }
    }

    /// The weights of each group of compressed-tensors.
    pub fn weights(&self) -> Vec<Weights> {
        let groups = self.value["config_groups"].as_object();
        let weights = groups.into_iter().flat_map(|groups| groups.values()).map(|group| &group["weights"]);
        let read = |weights: &Value| Weights {
            bits: weights["num_bits"].as_u64(),
            is_float: weights["type"] == "float",
            is_asymmetric: weights["symmetric"] == false,
            strategy: weights["strategy"].as_str().unwrap_or("").to_owned(),
            group: weights["group_size"].as_u64(),
            block: pair(&weights["block_structure"]),
        };
        weights.filter(|weights| weights.is_object()).map(read).collect()
    }
}

/// Two sizes of at least 1.
fn pair(value: &Value) -> Option<[u64; 2]> {
    let sizes: Vec<_> = value.as_array()?.iter().map(|size| size.as_u64().filter(|size| *size > 0)).collect();
    match sizes[..] {
        [Some(rows), Some(columns)] => Some([rows, columns]),
        _ => None,
    }
}

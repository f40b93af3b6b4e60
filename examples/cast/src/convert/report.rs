//! The report of a conversion and its losses, for people and for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wgpu_cast::{ElementType, LossCounts};
use wgpu_cast_files::{CastLoss, SafetensorsEntry, SafetensorsTensor};

use super::scales::{ScaleRole, is_factor};
use crate::failure::Failure;
use crate::output::{counted, line, size};
use crate::text::printable;

/// A tensor of an output.
#[derive(Clone, Debug)]
pub struct TensorReport {
    pub file: String,
    pub name: String,
    pub shape: Vec<u64>,
    /// `None` for complex numbers and other elements that cannot be cast.
    pub from: Option<ElementType>,
    /// The file's own name of the type, if the type is neither an element type nor complex.
    pub dtype: Option<String>,
    /// `None` if the tensor stays as it is.
    pub to: Option<ElementType>,
    pub bytes: [u64; 2],
    /// Whether the tensor has a scale, or is a scale.
    pub role: Option<ScaleRole>,
    pub lost: CastLoss,
}

/// The names of counts, in words for people.
const TOLD: [(&str, &str); 7] = [
    ("infinite", "became infinite"),
    ("nan", "became NaN"),
    ("saturated", "became the largest or least number"),
    ("out_of_range", "out of range"),
    ("zero", "became 0"),
    ("subnormal", "became subnormal"),
    ("nan_to_number", "NaN became a number"),
];

/// The name of a kind of loss, in words for people.
pub fn told(name: &str) -> &str {
    TOLD.iter().find(|row| row.0 == name).map_or(name, |row| row.1)
}

/// What was lost, as text.
pub fn losses(lost: &LossCounts) -> String {
    let told = |(name, count)| (count > 0).then(|| format!("{count} {}", told(name)));
    let told: Vec<_> = lost.iter().filter_map(told).collect();
    if told.is_empty() { "no value was lost".to_owned() } else { format!("lost: {}", told.join(", ")) }
}

impl TensorReport {
    /// A tensor of a safetensors file that stays as it is.
    pub fn of_stored(file: &str, tensor: &SafetensorsTensor, role: Option<ScaleRole>) -> Self {
        Self {
            file: file.to_owned(),
            name: tensor.name.clone(),
            shape: tensor.shape.clone(),
            from: tensor.element_type,
            dtype: None,
            to: None,
            bytes: [tensor.bytes; 2],
            role,
            lost: CastLoss::default(),
        }
    }

    /// The scale of a weight, which the input does not have.
    pub fn of_scale(file: &str, scale: &SafetensorsEntry, weight: &str) -> Self {
        let elements = count(&scale.shape);
        Self {
            file: file.to_owned(),
            name: scale.name.clone(),
            shape: scale.shape.clone(),
            from: Some(scale.element_type),
            dtype: None,
            to: None,
            bytes: [0, scale.element_type.packed_bytes(elements).unwrap_or(0)],
            role: Some(ScaleRole::Computed(weight.to_owned())),
            lost: CastLoss::default(),
        }
    }

    /// Whether the input has the tensor.
    pub fn is_stored(&self) -> bool {
        !matches!(self.role, Some(ScaleRole::Computed(_)))
    }

    /// The number of elements.
    pub fn elements(&self) -> u64 {
        count(&self.shape)
    }

    /// The name of the tensor, or that of the file if the tensor has none.
    pub fn shown_name(&self) -> String {
        printable(if self.name.is_empty() { &self.file } else { &self.name })
    }

    /// The type before the conversion.
    pub fn source_name(&self) -> &str {
        self.from.map_or(self.dtype.as_deref().unwrap_or("complex"), |from| from.name())
    }

    /// Whether the tensor has codes that are cast without their scale.
    pub fn loses_scale(&self) -> bool {
        self.to.is_some() && matches!(self.role, Some(ScaleRole::ScaledBy(_) | ScaleRole::Scaled(_)))
    }

    /// Whether neither type is STRING.
    pub fn is_numeric(&self) -> bool {
        [self.from, self.to].into_iter().flatten().all(ElementType::is_numeric)
    }

    fn conversion(&self) -> String {
        match self.to {
            Some(to) => format!("{} -> {to}", self.source_name()),
            None => format!("{} (unchanged)", self.source_name()),
        }
    }

    /// Prints the tensor.
    ///
    /// # Errors
    /// Writing to stdout fails.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        if json { line(self.json()) } else { line(self.text()) }
    }

    fn json(&self) -> Value {
        let to = self.to.map_or(self.source_name(), |to| to.name());
        let mut fields = json!({
            "file": self.file, "tensor": self.name, "shape": self.shape,
            "from": self.source_name(), "to": to, "bytes": self.bytes,
        });
        match &self.role {
            Some(ScaleRole::ScaledBy(scale)) => fields["scaled_by"] = json!(scale),
            Some(ScaleRole::Scaled(told_by)) => fields["scaled"] = json!(told_by),
            Some(ScaleRole::ScaleOf(codes)) => fields["scale_of"] = json!(codes),
            Some(ScaleRole::Applied(scale)) => fields["multiplied_by"] = json!(scale),
            Some(ScaleRole::Dropped(codes)) => {
                fields["scale_of"] = json!(codes);
                fields["to"] = Value::Null;
            }
            Some(ScaleRole::DividedBy(scale)) => fields["divided_by"] = json!(scale),
            Some(ScaleRole::Computed(weight)) => {
                fields["scale_of"] = json!(weight);
                fields["from"] = Value::Null;
            }
            Some(ScaleRole::Parameter) => fields["parameter"] = json!(true),
            None => {}
        }
        fields
    }

    fn text(&self) -> String {
        let shape: Vec<_> = self.shape.iter().map(u64::to_string).collect();
        let [before, after] = self.bytes.map(size);
        let (shape, from) = (shape.join(", "), self.source_name());
        let role = self.role.as_ref().map_or(String::new(), |role| format!(", {}", role.text()));
        match self.to {
            Some(to) => format!("{} [{shape}]: {from} -> {to}, {before} -> {after}{role}", self.shown_name()),
            None => {
                let bytes = if self.is_stored() { before } else { after };
                format!("{} [{shape}]: {from}, {bytes}{role}", self.shown_name())
            }
        }
    }
}

/// The line about scales that stay as they are, if there are some.
pub fn kept_scales(tensors: &[TensorReport]) -> Option<String> {
    let is_kept = |tensor: &&TensorReport| tensor.to.is_none() && matches!(tensor.role, Some(ScaleRole::ScaleOf(_)));
    let kept = tensors.iter().filter(is_kept).count() as u64;
    let stay = if kept == 1 { "stays as it is" } else { "stay as they are" };
    (kept > 0).then(|| format!("{} {stay} (--map converts scales)", counted(kept, "scale")))
}

/// The number of elements of a shape. It saturates, because headers can claim any size.
pub fn count(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |elements, &axis| elements.saturating_mul(axis))
}

/// The bytes of all tensors before and after the conversion.
pub fn bytes<'a>(tensors: impl IntoIterator<Item = &'a TensorReport>) -> [u64; 2] {
    tensors
        .into_iter()
        .fold([0, 0], |sum: [u64; 2], tensor| [0, 1].map(|side| sum[side].saturating_add(tensor.bytes[side])))
}

/// The sum of sizes. It saturates, because headers can claim any size.
pub fn sum(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().fold(0, u64::saturating_add)
}

/// Prints the result of a conversion.
pub struct Summary<'a> {
    pub tensors: &'a [TensorReport],
    pub route: &'a str,
    pub seconds: f64,
    /// Bytes of the outputs that exist from an interrupted conversion.
    pub resumed: u64,
    /// Whether the relative errors were computed.
    pub relative_errors: bool,
}

impl Summary<'_> {
    /// What all tensors lost.
    pub fn lost(&self) -> CastLoss {
        self.tensors.iter().fold(CastLoss::default(), |mut sum, tensor| {
            sum += tensor.lost;
            sum
        })
    }

    /// One object for each tensor, and one for all.
    ///
    /// # Errors
    /// Writing to stdout fails.
    pub fn print_json(&self) -> Result<(), Failure> {
        for tensor in self.tensors {
            let mut fields = tensor.json();
            if tensor.to.is_some() {
                self.add_losses(&mut fields, &tensor.lost);
            }
            line(fields)?;
        }
        let mut fields = json!({
            "tensors": self.tensors.len(), "cast": self.cast().count(), "bytes": bytes(self.tensors),
            "resumed": self.resumed, "seconds": self.seconds, "route": self.route,
        });
        self.add_losses(&mut fields, &self.lost());
        line(fields)
    }

    fn add_losses(&self, fields: &mut Value, lost: &CastLoss) {
        fields["lost"] = json!(lost.counts.iter().collect::<BTreeMap<_, _>>());
        if self.relative_errors {
            fields["relative_error"] = json!(lost.relative_error);
        }
    }

    /// The result and the losses as text.
    pub fn text(&self) -> String {
        let cast: Vec<_> = self.cast().collect();
        let what = match self.tensors {
            [tensor] => format!("{}, {}", tensor.conversion(), counted(tensor.elements(), "element")),
            all => {
                let mut kinds: Vec<_> = cast.iter().map(|tensor| tensor.conversion()).collect();
                kinds.sort();
                kinds.dedup();
                let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
                let [before, after] = bytes(all).map(size);
                let tensors = counted(all.len() as u64, "tensor");
                format!("{} of {tensors} cast{kinds}, {before} -> {after} in {:.1} s", cast.len(), self.seconds)
            }
        };
        let resumed = match self.resumed {
            0 => String::new(),
            bytes => format!(", {} of it were there already", size(bytes)),
        };
        let is_numeric = cast.iter().any(|tensor| tensor.is_numeric());
        let lost = if is_numeric { format!("; {}", losses(&self.lost().counts)) } else { String::new() };
        format!("{what}, {}{resumed}{lost}", self.route)
    }

    /// How many values were beyond the range of their type, and the tensor with most of them; `None` if there are none.
    pub fn beyond_range(&self) -> Option<String> {
        let values = self.lost().counts.overflowed();
        let worst =
            self.cast().max_by_key(|tensor| tensor.lost.counts.overflowed()).filter(|_| self.cast().count() > 1);
        let worst = worst.map_or(String::new(), |tensor| format!(", most of them in {}", tensor.shown_name()));
        (values > 0).then(|| format!("{} beyond the range of the type{worst}", counted(values, "value")))
    }

    /// How many scales, and other parameters of operators, became 0, and the tensor with most of them; `None` if there are none.
    pub fn lost_scales(&self) -> Option<String> {
        let is_scale = |tensor: &&TensorReport| match &tensor.role {
            Some(ScaleRole::Parameter) => true,
            Some(ScaleRole::ScaleOf(_)) => is_factor(&tensor.name),
            _ => false,
        };
        let lost: Vec<_> = self.cast().filter(is_scale).filter(|tensor| tensor.lost.counts.zero > 0).collect();
        let worst = lost.iter().max_by_key(|tensor| tensor.lost.counts.zero)?;
        let values = counted(lost.iter().map(|tensor| tensor.lost.counts.zero).sum(), "value");
        let most = if lost.len() > 1 { ", most of them" } else { "" };
        Some(format!("{values} of scales or parameters became 0{most} in {}", worst.shown_name()))
    }

    /// The tensors that were cast.
    fn cast(&self) -> impl Iterator<Item = &TensorReport> {
        self.tensors.iter().filter(|tensor| tensor.to.is_some())
    }

    /// Prints a table of the losses of each tensor.
    ///
    /// # Errors
    /// Writing to stdout fails.
    pub fn print_stats(&self) -> Result<(), Failure> {
        for tensor in self.cast() {
            let (name, error) = (tensor.shown_name(), tensor.lost.relative_error);
            let lost = losses(&tensor.lost.counts);
            line(format_args!("{name}: {}, {lost}; largest relative error {error:.2e}", tensor.conversion()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_claimed_sizes_do_not_overflow() {
        assert_eq!(sum([u64::MAX - 1, 1]), u64::MAX);
        assert_eq!(sum([u64::MAX, 2, 3]), u64::MAX);
        let tensor = |before, after| TensorReport {
            file: String::new(),
            name: String::new(),
            shape: Vec::new(),
            from: None,
            dtype: None,
            to: None,
            bytes: [before, after],
            role: None,
            lost: CastLoss::default(),
        };
        assert_eq!(bytes(&[tensor(u64::MAX, 1), tensor(2, 3)]), [u64::MAX, 4]);
    }
}

//! What a conversion did and lost, for people and for programs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use wgpu_cast::{ElementType, LossCounts};

use crate::failure::Failure;
use crate::output::{counted, line, note, size};

/// A tensor of an output.
#[derive(Clone, Debug)]
pub struct TensorReport {
    pub file: String,
    pub name: String,
    pub shape: Vec<u64>,
    pub from: String,
    /// `None` if the tensor stays as it is.
    pub to: Option<ElementType>,
    pub bytes: [u64; 2],
    pub lost: LossCounts,
}

/// The names of counts, as they are told to people.
const TOLD: [(&str, &str); 7] = [
    ("infinite", "became infinite"),
    ("nan", "became NaN"),
    ("saturated", "became the largest number"),
    ("out_of_range", "out of range"),
    ("zero", "became 0"),
    ("subnormal", "became subnormal"),
    ("nan_to_number", "NaN became a number"),
];

/// What was lost, as text.
pub fn losses(lost: &LossCounts) -> String {
    let told = |(name, count): (&str, u64)| {
        let text = TOLD.iter().find(|row| row.0 == name).map_or(name, |row| row.1);
        (count > 0).then(|| format!("{count} {text}"))
    };
    let told: Vec<_> = lost.iter().filter_map(told).collect();
    if told.is_empty() { "no value was lost".to_owned() } else { format!("lost: {}", told.join(", ")) }
}

impl TensorReport {
    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    fn conversion(&self) -> String {
        match self.to {
            Some(to) => format!("{} -> {to}", self.from),
            None => format!("{} (unchanged)", self.from),
        }
    }

    /// Prints the tensor.
    ///
    /// # Errors
    /// Writing to stdout fails.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        if json { line(self.json(false)) } else { line(self.text()) }
    }

    fn json(&self, is_done: bool) -> Value {
        let mut fields = Map::new();
        fields.insert("file".to_owned(), json!(self.file));
        fields.insert("tensor".to_owned(), json!(self.name));
        fields.insert("shape".to_owned(), json!(self.shape));
        fields.insert("from".to_owned(), json!(self.from));
        fields.insert("to".to_owned(), json!(self.to.map_or(self.from.clone(), |to| to.to_string())));
        fields.insert("bytes".to_owned(), json!(self.bytes));
        if is_done && self.to.is_some() {
            fields.insert("lost".to_owned(), self.lost.iter().collect::<BTreeMap<_, _>>().into_iter().collect());
        }
        Value::Object(fields)
    }

    fn text(&self) -> String {
        let shape: Vec<_> = self.shape.iter().map(u64::to_string).collect();
        let [before, after] = self.bytes.map(size);
        let (shape, from) = (shape.join(", "), &self.from);
        match self.to {
            Some(to) => format!("{} [{shape}]: {from} -> {to}, {before} -> {after}", self.name),
            None => format!("{} [{shape}]: {from}, {before}", self.name),
        }
    }
}

/// Prints the plan of a conversion.
///
/// # Errors
/// Writing to stdout fails.
pub fn print_plan(tensors: &[TensorReport], json: bool) -> Result<(), Failure> {
    for tensor in tensors {
        tensor.print(json)?;
    }
    let bytes = |side: usize| tensors.iter().map(|tensor| tensor.bytes[side]).sum::<u64>();
    let cast = tensors.iter().filter(|tensor| tensor.to.is_some()).count();
    if json {
        return line(json!({"tensors": tensors.len(), "cast": cast, "bytes": [bytes(0), bytes(1)]}));
    }
    let [before, after] = [bytes(0), bytes(1)].map(size);
    line(format_args!("{}, {cast} of them cast: {before} -> {after}", counted(tensors.len() as u64, "tensor")))
}

/// Prints the result of a conversion.
pub struct Summary<'a> {
    pub tensors: &'a [TensorReport],
    pub route: &'a str,
    pub seconds: f64,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// Bytes of the outputs that an interrupted conversion had left.
    pub resumed: u64,
}

impl Summary<'_> {
    /// What all tensors lost.
    pub fn lost(&self) -> LossCounts {
        self.tensors.iter().fold(LossCounts::default(), |mut sum, tensor| {
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
            line(tensor.json(true))?;
        }
        let lost: BTreeMap<_, _> = self.lost().iter().collect();
        let cast = self.tensors.iter().filter(|tensor| tensor.to.is_some()).count();
        line(json!({
            "tensors": self.tensors.len(),
            "cast": cast,
            "bytes": self.bytes,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "route": self.route,
            "lost": lost,
        }))
    }

    /// A line on stderr, and a warning if a value was beyond the range of its type.
    pub fn print_text(&self) {
        let lost = self.lost();
        let cast: Vec<_> = self.tensors.iter().filter(|tensor| tensor.to.is_some()).collect();
        let what = match self.tensors {
            [tensor] => format!("{}, {}", tensor.conversion(), counted(tensor.elements(), "element")),
            all => {
                let mut kinds: Vec<_> = cast.iter().map(|tensor| tensor.conversion()).collect();
                kinds.sort();
                kinds.dedup();
                let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
                let [before, after] = self.bytes.map(size);
                let tensors = counted(all.len() as u64, "tensor");
                format!("{} of {tensors} cast{kinds}, {before} -> {after} in {:.1} s", cast.len(), self.seconds)
            }
        };
        let resumed = match self.resumed {
            0 => String::new(),
            bytes => format!(", {} of it were there already", size(bytes)),
        };
        let is_numeric =
            cast.iter().any(|tensor| tensor.from != "string" && tensor.to.is_some_and(ElementType::is_numeric));
        let lost_text = if is_numeric { format!("; {}", losses(&lost)) } else { String::new() };
        note(format_args!("{what}, {}{resumed}{lost_text}", self.route));
        if lost.overflowed() > 0 {
            let worst = cast.iter().max_by_key(|tensor| tensor.lost.overflowed());
            let worst = worst.filter(|_| cast.len() > 1).map(|tensor| format!(", most of them in {}", tensor.name));
            let values = counted(lost.overflowed(), "value");
            note(format_args!(
                "warning: {values} beyond the range of the type{} (--strict makes this an error, --stats lists all tensors)",
                worst.unwrap_or_default()
            ));
        }
    }

    /// A table of what each tensor lost.
    ///
    /// # Errors
    /// Writing to stdout fails.
    pub fn print_stats(&self) -> Result<(), Failure> {
        for tensor in self.tensors.iter().filter(|tensor| tensor.to.is_some()) {
            let name = if tensor.name.is_empty() { &tensor.file } else { &tensor.name };
            line(format_args!("{name}: {}, {}", tensor.conversion(), losses(&tensor.lost)))?;
        }
        Ok(())
    }
}

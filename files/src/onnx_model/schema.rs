//! The schemas of ONNX's operators, as far as conversions need them: the versions, and the float types that inputs and
//! outputs may have.

use std::collections::HashMap;
use std::sync::OnceLock;

use wgpu_cast::ElementType;

/// The table of schemas. `files/tests/onnx/schemas.py` makes it, and describes its format.
const TABLE: &str = include_str!("schemas.txt");

/// The table of bodies of functions. `files/tests/onnx/bodies.py` makes it, and describes its format.
const BODIES: &str = include_str!("bodies.txt");

/// The inputs and outputs of a version of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    pub inputs: Parameters,
    pub outputs: Parameters,
    variables: Vec<Allowed>,
    /// The letters of the float types that the operator's body does not support, even if the variables allow them.
    refused: &'static str,
}

/// The type variable of each input or output. With `repeats`, further inputs or outputs have the last variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    variables: Vec<usize>,
    repeats: bool,
}

/// The types that a type variable allows, as letters of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    text: &'static str,
}

impl Parameters {
    /// The type variable of an input or output; `None` beyond the last one.
    pub(super) fn variable(&self, index: usize) -> Option<usize> {
        let last = self.variables.last().copied().filter(|_| self.repeats);
        self.variables.get(index).copied().or(last)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        self.variables.iter().copied()
    }
}

impl Allowed {
    /// Whether tensors of this float type are allowed.
    pub(super) fn float(self, element_type: ElementType) -> bool {
        letter(element_type).is_some_and(|letter| self.text.contains(letter))
    }

    /// Whether tensors of this float type are all that is allowed.
    pub(super) fn only(self, element_type: ElementType) -> bool {
        self.text.chars().eq(letter(element_type))
    }

    /// Whether tensors of any float type are allowed.
    pub(super) fn any_float(self) -> bool {
        self.text.contains(['f', 'd', 'h', 'b'])
    }

    /// Whether no tensor is allowed, only sequences, optionals or maps.
    pub(super) fn no_tensor(self) -> bool {
        self.text == "s"
    }
}

/// The letter of a float type in the table; `None` for types that a graph cannot be converted from or to.
pub(super) fn letter(element_type: ElementType) -> Option<char> {
    match element_type {
        ElementType::FLOAT => Some('f'),
        ElementType::DOUBLE => Some('d'),
        ElementType::FLOAT16 => Some('h'),
        ElementType::BFLOAT16 => Some('b'),
        _ => None,
    }
}

impl Schema {
    pub(super) fn allowed(&self, variable: usize) -> Allowed {
        self.variables[variable]
    }

    /// Whether the operator's body supports this float type. An operator that is not a function supports all of them.
    pub(super) fn body_supports(&self, element_type: ElementType) -> bool {
        letter(element_type).is_none_or(|letter| !self.refused.contains(letter))
    }

    /// The schema of an operator of the default domain at an opset; `None` for an unknown or deprecated operator.
    pub(super) fn at(operator: &str, opset: i64) -> Option<Self> {
        let schema = parse(version(operator, opset)?.1)?;
        Some(Schema { refused: refused(operator, opset), ..schema })
    }
}

/// The version of an operator at an opset: the opset that introduced it.
pub(super) fn since(operator: &str, opset: i64) -> Option<i64> {
    version(operator, opset).map(|(since, _)| since)
}

fn version(operator: &str, opset: i64) -> Option<(i64, &'static str)> {
    type Versions = HashMap<&'static str, Vec<(i64, &'static str)>>;
    static VERSIONS: OnceLock<Versions> = OnceLock::new();
    let versions = VERSIONS.get_or_init(|| {
        let mut versions = Versions::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let since = |text: &str| text.parse().ok();
            if let (Some(name), Some(since), Some(rest)) = (words.next(), words.next().and_then(since), words.next()) {
                versions.entry(name).or_default().push((since, rest));
            }
        }
        versions
    });
    versions.get(operator)?.iter().copied().rfind(|&(since, _)| since <= opset)
}

/// The letters of the types that the body of an operator does not support at an opset.
fn refused(operator: &str, opset: i64) -> &'static str {
    let mut lines = BODIES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let since = (words.next() == Some(operator)).then(|| words.next()?.parse::<i64>().ok()).flatten()?;
        words.next().filter(|_| since <= opset)
    });
    lines.next_back().unwrap_or_default()
}

/// Reads what follows the version in a line of the table.
fn parse(line: &'static str) -> Option<Schema> {
    let mut words = line.split(' ');
    let (inputs, outputs) = words.next()?.split_once('>')?;
    let variables: Vec<(&str, &'static str)> = words.filter_map(|word| word.split_once('=')).collect();
    let parameters = |letters: &str| {
        let index = |letter: char| variables.iter().position(|(name, _)| name.chars().eq([letter]));
        let letters_only = letters.trim_end_matches('*');
        let variables = letters_only.chars().map(index).collect::<Option<Vec<_>>>()?;
        Some(Parameters { variables, repeats: letters.len() > letters_only.len() })
    };
    let (inputs, outputs) = (parameters(inputs)?, parameters(outputs)?);
    let variables = variables.iter().map(|&(_, text)| Allowed { text }).collect();
    Some(Schema { inputs, outputs, variables, refused: "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{BFLOAT16, DOUBLE, FLOAT, FLOAT16};
    use wgpu_cast::onnx::NEWEST_OPSET;

    #[test]
    fn every_line_of_the_table_is_a_schema() {
        let (mut newest, mut deprecated) = (0, 0);
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            let since: i64 = words[1].parse().unwrap();
            newest = newest.max(since);
            match words[2] {
                "deprecated" => deprecated += 1,
                rest => assert!(parse(rest).is_some(), "{line}"),
            }
            assert_eq!(super::since(words[0], since), Some(since), "{line}");
        }
        assert_eq!((newest, deprecated), (NEWEST_OPSET, 3));
    }

    #[test]
    fn every_line_of_the_bodies_names_types_that_the_schema_allows() {
        let lines: Vec<Vec<&str>> = BODIES.lines().skip(1).map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines.len(), 2);
        for words in lines {
            let (operator, opset, types) = (words[0], words[1].parse().unwrap(), words[2]);
            let schema = Schema::at(operator, opset).unwrap();
            assert_eq!(schema.refused, types);
            assert!(schema.allowed(0).text.contains(types), "{words:?}");
        }
        let schema = |opset| Schema::at("MeanVarianceNormalization", opset).unwrap();
        let supports = |opset| [FLOAT, DOUBLE, FLOAT16, BFLOAT16].map(|t| schema(opset).body_supports(t));
        assert_eq!(supports(9), [true, false, false, true]);
        assert_eq!([supports(13), supports(28)], [[true, false, false, false]; 2]);
        assert!(Schema::at("Selu", 28).unwrap().body_supports(FLOAT16));
    }

    /// The expected values are from the texts of the operators.
    #[test]
    fn schemas_at_opsets() {
        assert_eq!([5, 6, 12, 13, 18, 19, 28].map(|opset| since("Cast", opset)), [1, 6, 9, 13, 13, 19, 28].map(Some));
        assert_eq!([since("Cast", 0), since("NoSuchOperator", 28), since("Gelu", 19)], [None; 3]);
        let resize = Schema::at("Resize", 13).unwrap();
        let [x, roi, scales, sizes] = [0, 1, 2, 3].map(|index| resize.inputs.variable(index).unwrap());
        assert_eq!(resize.inputs.variable(4), None);
        assert_eq!(resize.outputs.variable(0), Some(x));
        let allowed = |variable: usize| [FLOAT, DOUBLE, FLOAT16, BFLOAT16].map(|t| resize.allowed(variable).float(t));
        assert_eq!(allowed(x), [true; 4]);
        assert_eq!(allowed(roi), [true, true, true, false]);
        assert_eq!(allowed(scales), [true, false, false, false]);
        assert_eq!(allowed(sizes), [false; 4]);
        assert!(resize.allowed(scales).only(FLOAT) && !resize.allowed(roi).only(FLOAT));
        let concat = Schema::at("Concat", 13).unwrap();
        assert_eq!([0, 7].map(|index| concat.inputs.variable(index)), [Some(0); 2]);
        assert!(Schema::at("Upsample", 9).is_some() && Schema::at("Upsample", 10).is_none());
        let construct = Schema::at("SequenceConstruct", 11).unwrap();
        assert!(construct.allowed(construct.outputs.variable(0).unwrap()).no_tensor());
    }
}

//! Refuses patterns that choose nothing: a typing error in one would silently convert the wrong tensors.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use wgpu_cast::Kind;

use super::index_output::IndexOutput;
use super::plan::Task;
use super::report::TensorReport;
use super::rules::{Mapping, Pattern};
use super::scales::{ScaleRole, plain_name};
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::text::printable;

/// The most similar names that are shown.
const MOST_SIMILAR: usize = 3;

/// The least similarity of the names that are shown, in thousandths.
const LEAST_SIMILARITY: u32 = 600;

/// Refuses patterns that match no name, mappings after more general ones, and patterns of `--only` whose tensors all
/// have types to which `--to` does not apply. The names are those of all inputs; with `--part`, those of the whole
/// model. If the names in other files are not known, patterns may be meant for them.
///
/// # Errors
/// A usage error that names the pattern and similar names.
pub fn check(
    tasks: &[Task],
    indexes: &[IndexOutput],
    elsewhere: &[FileFormat],
    args: &ConvertArgs,
) -> Result<(), Failure> {
    if !elsewhere.is_empty() {
        return Ok(());
    }
    let tensors: Vec<_> = tasks.iter().flat_map(|task| &task.tensors).filter(|tensor| tensor.is_stored()).collect();
    let mut names: BTreeSet<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    if args.part.is_some() {
        // Codes of some layouts have other names than the tensors that they become.
        let name = |name| if args.rules.dequantize { plain_name(name) } else { name };
        names.extend(indexes.iter().flat_map(|output| output.index.weights.keys()).map(|key| name(key.as_str())));
    }
    let rules = &args.rules;
    let lists = [("--only", &rules.only), ("--except", &rules.except)];
    let listed = lists.into_iter().flat_map(|(option, list)| list.iter().map(move |pattern| (option, pattern)));
    let mapped = rules.map.iter().map(|mapping| ("--map", &mapping.pattern));
    let typed = args.from.patterns().map(|pattern| ("--from", pattern));
    for (option, pattern) in listed.chain(mapped).chain(typed) {
        find(option, pattern, "no tensor has such a name", &names)?;
    }
    check_order(&rules.map, &names)?;
    // With --part the types of other shards are not known here.
    let whole = args.part.is_none();
    rules.only.iter().filter(|_| whole).try_for_each(|pattern| check_types(pattern, &tensors, args))?;
    let nodes: BTreeSet<&str> = tasks.iter().flat_map(|task| &task.nodes).map(String::as_str).collect();
    args.keep.iter().try_for_each(|pattern| find("--keep", pattern, "no node has such an operator or name", &nodes))
}

/// Refuses a mapping after a more general one, which decides about all tensors of both.
fn check_order(map: &[Mapping], names: &BTreeSet<&str>) -> Result<(), Failure> {
    for (index, mapping) in map.iter().enumerate() {
        let is_general = |earlier: &&Mapping| {
            let has = |mapping: &Mapping, name: &&&str| mapping.pattern.matches(name);
            let (own, others): (Vec<_>, Vec<_>) = names.iter().partition(|name| has(mapping, name));
            earlier.to != mapping.to
                && own.iter().all(|name| has(earlier, name))
                && others.iter().any(|name| has(earlier, name))
        };
        if let Some(earlier) = map[..index].iter().find(is_general) {
            let [pattern, earlier] = [mapping, earlier].map(|mapping| shown(&mapping.pattern));
            let what =
                format!("{earlier} before it matches all its tensors, and the first mapping that matches counts");
            return Err(Failure::Usage(format!("--map {pattern}: {what}")));
        }
    }
    Ok(())
}

/// Refuses an `--only` if all its tensors stay as they are because of their types.
fn check_types(pattern: &Pattern, tensors: &[&TensorReport], args: &ConvertArgs) -> Result<(), Failure> {
    let is_meant = |tensor: &&&TensorReport| {
        let is_scale = tensor.role.as_ref().is_some_and(ScaleRole::is_scale);
        let of_type = tensor.from.is_none_or(|from| {
            args.from.named(&tensor.name).is_some()
                || args.from.plain().map_or(matches!(from.kind(), Kind::Float(_)), |plain| plain == from)
        });
        let has_scale = matches!(tensor.role, Some(ScaleRole::Applied(_) | ScaleRole::DividedBy(_)));
        args.rules.maps(&tensor.name) || has_scale || (of_type && !is_scale && args.rules.quantize.is_none())
    };
    let matching: Vec<_> = tensors.iter().filter(|tensor| pattern.matches(&tensor.name)).collect();
    match matching.first() {
        Some(first) if !matching.iter().any(is_meant) => {
            let (name, from, pattern) = (first.shown_name(), first.source_name(), shown(pattern));
            let what = match args.rules.quantize {
                None => format!("--to does not apply to {name}, which is {from}"),
                Some(_) => format!("--quantize does not apply to {name}, which is no weight of a linear layer"),
            };
            Err(Failure::Usage(format!("--only {pattern}: {what} (--map GLOB=TYPE casts any tensor)")))
        }
        _ => Ok(()),
    }
}

/// Refuses a pattern that matches none of the names.
fn find(option: &str, pattern: &Pattern, what: &str, names: &BTreeSet<&str>) -> Result<(), Failure> {
    if names.iter().any(|name| pattern.matches(name)) {
        return Ok(());
    }
    let similar: Vec<_> = similar(pattern.text(), names).into_iter().map(printable).collect();
    let similar = if similar.is_empty() { String::new() } else { format!("; similar: {}", similar.join(", ")) };
    Err(Failure::Usage(format!("{option} {}: {what}{similar}", shown(pattern))))
}

/// A pattern in the form in which a user types it into a shell.
fn shown(pattern: &Pattern) -> String {
    format!("'{}'", printable(pattern.text()))
}

/// The names with the parts that are most similar to the letters of the pattern.
fn similar<'a>(pattern: &str, names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let plain = pattern.replace('*', "").to_lowercase();
    let plain = plain.trim_matches(is_separator);
    if plain.is_empty() {
        return Vec::new();
    }
    let words = plain.split(is_separator).count();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let parts: Vec<&str> = name.split(is_separator).collect();
        let runs = parts.windows(words.min(parts.len())).map(|run| run.join("."));
        let of_run = |run: String| strsim::normalized_damerau_levenshtein(&plain.replace(is_separator, "."), &run);
        runs.map(of_run).fold(0.0, f64::max)
    };
    // The similarity in thousandths: integers can be sorted.
    let mut found: Vec<_> = names.iter().map(|name| (Reverse((similarity(name) * 1000.0) as u32), *name)).collect();
    let best = found.iter().map(|(Reverse(similarity), _)| *similarity).max().unwrap_or(0);
    found.retain(|(Reverse(similarity), _)| *similarity >= LEAST_SIMILARITY.max(best * 9 / 10));
    found.sort_unstable();
    found.into_iter().take(MOST_SIMILAR).map(|(_, name)| name).collect()
}

/// Whether a letter separates the words of a name.
fn is_separator(letter: char) -> bool {
    matches!(letter, '.' | '/' | ':')
}

//! Every text of WGSL that the crate makes, for compilers to read.

use std::collections::BTreeMap;

use wgpu_cast::wgsl::{self, Array, Function, Functions, Kernel, KernelVariant, Type, ValueType};
use wgpu_cast::{CastSpec, CodeLookup, ElementType, Error, Placement, Plan, PlanSettings, Position, View};

use crate::options::variants;
use crate::{numeric, pairs_of_widths};

/// Every pair of numeric types under every set of options that can make a difference.
pub fn specs() -> impl Iterator<Item = CastSpec> {
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
    pairs.flat_map(|(from, to)| variants(to).into_iter().map(move |o| CastSpec::new(from, to).with_options(o)))
}

/// Each distinct text that [`wgsl::kernel`] gives, with what it is for.
pub fn kernels() -> Vec<(String, Kernel)> {
    let mut kernels = BTreeMap::new();
    for spec in specs() {
        for variant in KernelVariant::ALL {
            let kernel = wgsl::kernel(&spec, variant).expect("numeric types have kernels");
            let name = format!("{} to {} {:?}", spec.from, spec.to, spec.options);
            kernels.entry(kernel.wgsl().to_owned()).or_insert((name, kernel));
        }
    }
    kernels.into_values().collect()
}

/// The kernels of plans that [`wgsl::kernel`] does not give: for slices that start anywhere, in one buffer and in
/// place, and for views. Each text comes with its purpose.
pub fn plans(pairs: impl IntoIterator<Item = CastSpec>) -> Vec<(String, String)> {
    let matrix = [100, 70];
    let views = [
        View::new(&matrix).with_source_strides(&[1, 100]),
        View::new(&matrix).with_source_strides(&[71, 1]),
        View::new(&matrix).with_source_strides(&[-140, 2]).with_destination_strides(&[80, 1]),
        View::new(&matrix).with_destination_strides(&[1, -203]),
    ];
    let mut kernels = BTreeMap::new();
    for spec in pairs {
        for lookup in [CodeLookup::Table, CodeLookup::Computed] {
            let mut settings = PlanSettings::default();
            (settings.tuning.lookup, settings.tuning.blocks_from) = (lookup, Some(0));
            let part = |first| Position::part(0, first);
            let far = Position::whole(1 << 20);
            let mut plan = |plan: Result<Plan, Error>| {
                for kernel in plan.expect("a plan").kernels() {
                    kernels.insert(kernel.wgsl().to_owned(), format!("{} to {}", spec.from, spec.to));
                }
            };
            plan(Plan::new(&spec, 5000, &Placement::two_buffers(part(3), part(1)), &settings));
            plan(Plan::new(&spec, 5000, &Placement::one_buffer(part(3), far), &settings));
            plan(Plan::new(&spec, 5000, &Placement::one_buffer(part(0), part(0)), &settings));
            settings.limits.binding_size = 256 << 10;
            plan(Plan::new(&spec, 5000, &Placement::one_buffer(part(3), far), &settings));
            for view in &views {
                plan(Plan::view(&spec, view, &Placement::two_buffers(part(3), part(1)), &settings));
                plan(Plan::view(&spec, view, &Placement::one_buffer(part(3), far), &settings));
            }
        }
    }
    kernels.into_iter().map(|(wgsl, name)| (name, wgsl)).collect()
}

/// A pair of types for each pair of widths.
pub fn specs_of_widths() -> impl Iterator<Item = CastSpec> {
    pairs_of_widths().into_iter().map(|(from, to)| CastSpec::new(from, to))
}

/// Each type as the source and as the destination, with a type of each width on the other side: every decoder and every
/// encoder in kernels of every pair of widths.
pub fn specs_by_width() -> impl Iterator<Item = CastSpec> {
    let picked: Vec<_> =
        pairs_of_widths().into_iter().filter(|(from, to)| from.bits() == to.bits()).map(|pair| pair.0).collect();
    let pairs = move |t: ElementType| picked.clone().into_iter().flat_map(move |other| [(t, other), (other, t)]);
    numeric().flat_map(pairs).map(|(from, to)| CastSpec::new(from, to))
}

/// Modules that call the functions of [`wgsl::functions`] and [`Functions`]: one for each pair under each set of
/// options, with its functions under two prefixes; one with all functions under one prefix; and one with all functions
/// of arrays.
pub fn functions() -> Vec<(String, String)> {
    let pair = |spec: CastSpec| (format!("{} to {} {:?}", spec.from, spec.to, spec.options), twice(&spec));
    let mut modules: Vec<_> = specs().map(pair).collect();
    modules.extend(functions_of(ValueType::F32));
    modules
}

/// Modules that call the functions of `f16` values, as [`functions`] does. They need the language's extension `f16`.
pub fn functions_of_f16() -> [(String, String); 2] {
    functions_of(ValueType::F16)
}

/// Modules with all functions of values of a type, and with all those of arrays.
fn functions_of(values: ValueType) -> [(String, String); 2] {
    [
        (format!("all functions, {values:?}"), everything_called("all", values).1),
        (format!("functions of arrays, {values:?}"), arrays("a", values).1),
    ]
}

/// The directive at the start of a module with values of a type.
pub fn directive(values: ValueType) -> &'static str {
    if values == ValueType::F16 { "enable f16;\n" } else { "" }
}

/// A cast under two prefixes, and a kernel that calls both.
pub fn twice(spec: &CastSpec) -> String {
    let functions = ["a", "b_2"].map(|prefix| wgsl::functions(spec, prefix).expect("a numeric pair"));
    let called = functions.each_ref().map(|functions| functions.list().last().expect("the cast"));
    format!("{}{}{}", functions[0].wgsl(), caller(&called), functions[1].wgsl())
}

/// A kernel that calls functions from code to code with the words of a buffer.
pub fn caller(functions: &[&Function]) -> String {
    let mut body = String::new();
    for function in functions {
        let argument = match function.arguments()[0] {
            Type::Vec2U32 => "vec2<u32>(words[0], words[1])",
            _ => "words[0]",
        };
        let call = format!("{}({argument})", function.name());
        body.push_str(&match function.result() {
            Some(Type::Vec2U32) => format!("    let r = {call};\n    words[0] = r.x;\n    words[1] = r.y;\n"),
            _ => format!("    words[0] = {call};\n"),
        });
        body = format!("    {{\n{body}    }}\n");
    }
    format!(
        "@group(0) @binding(1) var<storage, read_write> words: array<u32>;\n\
         @compute @workgroup_size(1)\nfn main() {{\n{body}}}\n"
    )
}

/// All functions under one prefix with values of a type, except functions of arrays. Only with `f32` are there casts
/// from code to code.
pub fn everything(prefix: &str, values: ValueType) -> Functions {
    let mut functions = Functions::new(prefix).expect("a prefix").with_values(values);
    if values == ValueType::F32 {
        casts_of(&mut functions).expect("numeric types have casts");
    }
    values_of(&mut functions).expect("numeric types have values");
    functions
}

fn casts_of(functions: &mut Functions) -> Result<(), Error> {
    for spec in specs() {
        functions.cast(&spec)?;
        if spec.from.bits() <= Some(8) {
            functions.cast_table(&spec)?;
        }
    }
    for t in numeric().filter(|t| t.bits() <= Some(16)) {
        functions.lane(t)?;
        functions.with_lane(t)?;
    }
    Ok(())
}

fn values_of(functions: &mut Functions) -> Result<(), Error> {
    for t in numeric() {
        functions.decode(t)?;
        if t.bits() <= Some(8) {
            functions.decode_table(t)?;
            functions.decode_four(t)?;
        }
        if t.bits() <= Some(16) {
            functions.decode_word(t)?;
            functions.decode_vector(t)?;
        }
        for options in variants(t) {
            functions.encode(t, &options)?;
            if t.bits() <= Some(8) {
                functions.encode_four(t, &options)?;
            }
            if t.bits() <= Some(16) {
                functions.encode_word(t, &options)?;
                functions.encode_vector(t, &options)?;
            }
        }
    }
    Ok(())
}

/// [`everything`], and a kernel that uses one of the tables: all tables together would not fit into workgroup memory.
pub fn everything_called(prefix: &str, values: ValueType) -> (Functions, String) {
    let mut functions = everything(prefix, values);
    let table = functions.decode_table(ElementType::FLOAT8E4M3FN).expect("a table");
    let look_up_word = table.look_up_word.expect("a table of 8 bits");
    let text = format!(
        "{}{}
@group(0) @binding(0) var<storage, read_write> values: array<{}>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) local: u32) {{
    {}(local, 64u);
    values[local] = {}(local);
}}
",
        directive(values),
        functions.wgsl(),
        look_up_word.result().expect("values"),
        table.fill.name(),
        look_up_word.name()
    );
    (functions, text)
}

/// The functions of arrays of the caller: every type in one module, with an array of words, an array of vectors and an
/// array of atomic words.
pub fn arrays(prefix: &str, values: ValueType) -> (Functions, String) {
    let mut functions = Functions::new(prefix).expect("a prefix").with_values(values);
    for t in numeric() {
        for array in [Array::from("words"), Array::of_vectors("vectors")] {
            functions.load_value(t, array).expect("a numeric type");
            for options in variants(t) {
                functions.store_value(t, &options, array).expect("a numeric type");
            }
        }
        if t.bits() <= Some(16) {
            functions.store_atomic(t, "atomic_words").expect("lanes");
        }
    }
    let mut body = String::new();
    for function in functions.list().iter().filter(|function| function.result().is_none()) {
        let kind = function.arguments()[1];
        let argument = if kind == Type::Vec2U32 { format!("{kind}(1u)") } else { format!("{kind}(1)") };
        body.push_str(&format!("    {}(7u, {argument});\n", function.name()));
    }
    let text = format!(
        "{}{}\n@group(0) @binding(0) var<storage, read_write> words: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> vectors: array<vec4<u32>>;\n\
         @group(0) @binding(2) var<storage, read_write> atomic_words: array<atomic<u32>>;\n\
         @compute @workgroup_size(1)\nfn main() {{\n{body}}}\n",
        directive(values),
        functions.wgsl()
    );
    (functions, text)
}

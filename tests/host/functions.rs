//! Casts as WGSL functions, without a GPU: they are valid, compose in one module, and their names stay apart.

use std::collections::BTreeSet;

use naga::valid::{Capabilities, ValidationFlags, Validator};
use support::texts::{arrays, caller, directive, everything, everything_called, specs, twice};
use support::translate::{Format, hlsl, translate};
use support::{cases, numeric};
use wgpu_cast::wgsl::{self, Array, Functions, Type, ValueType};
use wgpu_cast::{CastFault, CastOptions, CastSpec, ElementType, Error, Tensor, cpu};

/// Parses and validates a module. Its only capability is `f16`, which it cannot use without the directive.
fn module(wgsl: &str) -> naga::Module {
    let module = naga::front::wgsl::parse_str(wgsl).unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(wgsl)));
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16);
    validator.validate(&module).unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(wgsl)));
    module
}

/// A type as naga has it.
fn naga_type(kind: Type) -> String {
    let wgsl = format!("enable f16;\nfn f() -> {kind} {{ return {kind}(); }}");
    let module = naga::front::wgsl::parse_str(&wgsl).unwrap();
    let result = module.functions.iter().next().unwrap().1.result.as_ref().unwrap();
    described(&module, result.ty)
}

fn described(module: &naga::Module, ty: naga::Handle<naga::Type>) -> String {
    match &module.types[ty].inner {
        naga::TypeInner::Array { base, size, .. } => format!("{size:?} of {:?}", module.types[*base].inner),
        inner => format!("{inner:?}"),
    }
}

/// Everything that a module declares in its scope.
fn declared(module: &naga::Module) -> Vec<String> {
    let functions = module.functions.iter().filter_map(|(_, function)| function.name.clone());
    let constants = module.constants.iter().filter_map(|(_, constant)| constant.name.clone());
    let types = module.types.iter().filter_map(|(_, ty)| ty.name.clone());
    let variables = module.global_variables.iter().filter_map(|(_, variable)| variable.name.clone());
    functions.chain(constants).chain(types).chain(variables).collect()
}

/// Checks the listed functions against the text, and that nothing is outside the prefix.
fn check(functions: &Functions, prefix: &str, values: ValueType) -> Vec<String> {
    let module = module(&format!("{}{}", directive(values), functions.wgsl()));
    assert!(!functions.wgsl().contains("//:use") && !functions.wgsl().contains("// reads: "));
    assert!(module.entry_points.is_empty());
    assert!(module.global_variables.iter().all(|(_, variable)| variable.binding.is_none()));
    for function in functions.list() {
        let found = module.functions.iter().find(|(_, f)| f.name.as_deref() == Some(function.name()));
        let (_, found) = found.unwrap_or_else(|| panic!("{} is not in the text", function.name()));
        let arguments: Vec<_> = found.arguments.iter().map(|argument| described(&module, argument.ty)).collect();
        assert_eq!(arguments, function.arguments().iter().map(|t| naga_type(*t)).collect::<Vec<_>>(), "{function:?}");
        let result = found.result.as_ref().map(|result| described(&module, result.ty));
        assert_eq!(result, function.result().map(naga_type), "{function:?}");
    }
    let names = declared(&module);
    for name in &names {
        assert!(name.starts_with(&format!("{prefix}_")), "{name}");
    }
    names
}

/// For every pair under every option, the functions are valid, have only names with the prefix, and can be twice in one
/// module of the caller.
#[test]
fn every_cast_composes_twice_in_one_module() {
    for spec in specs() {
        for prefix in ["a", "b_2"] {
            check(&wgsl::functions(&spec, prefix).unwrap(), prefix, ValueType::F32);
        }
        let text = twice(&spec);
        module(&text);
        for format in Format::ALL {
            translate(&text, format).unwrap_or_else(|e| panic!("{spec:?}, {}: {e}\n{text}", format.name()));
        }
    }
}

/// Translates a module to every language that has its types. GLSL does not have `f16`, and HLSL has it from shader
/// model 6.2 on.
fn translate_all(text: &str, values: ValueType) {
    for format in Format::ALL {
        let written = match (values, format) {
            (ValueType::F16, Format::Glsl) => continue,
            (ValueType::F16, Format::Hlsl) => hlsl(text, naga::back::hlsl::ShaderModel::V6_2).map(String::into_bytes),
            _ => translate(text, format),
        };
        written.unwrap_or_else(|e| panic!("{}: {e}\n{text}", format.name()));
    }
}

#[test]
fn every_function_stands_under_one_prefix() {
    for values in [ValueType::F32, ValueType::F16] {
        let (mut functions, text) = everything_called("all", values);
        let names = check(&functions, "all", values);
        match values {
            ValueType::F16 => translate_all(&text, values),
            // Other tests translate casts one by one, and calls of them with arrays.
            _ => drop(module(&text)),
        }
        // A function that reads no constant is there once.
        assert_eq!(names.iter().filter(|name| name.ends_with("normalize_words")).count(), 1);
        // Asking again adds nothing.
        let text = functions.wgsl().to_owned();
        let listed = functions.list().len();
        let again = functions.cast(&CastSpec::new(ElementType::FLOAT, ElementType::INT64)).unwrap();
        assert_eq!(again.name(), "all_float_to_int64");
        functions.decode_table(ElementType::INT4).unwrap();
        assert_eq!((functions.wgsl(), functions.list().len()), (&text[..], listed));
    }
}

/// The functions of arrays of the caller: every type in one module, with an array of words, an array of vectors and an
/// array of atomic words.
#[test]
fn every_function_of_an_array_stands_under_one_prefix() {
    for values in [ValueType::F32, ValueType::F16] {
        let (_, text) = arrays("a", values);
        translate_all(&text, values);
    }
}

/// Functions of both types of values may stand under one prefix.
#[test]
fn values_of_both_types_stand_under_one_prefix() {
    let mut functions = Functions::new("b").unwrap();
    for values in [ValueType::F32, ValueType::F16, ValueType::F32] {
        functions = functions.with_values(values);
        for t in numeric() {
            functions.decode(t).unwrap();
            functions.encode(t, &CastOptions::default()).unwrap();
        }
    }
    check(&functions, "b", ValueType::F16);
}

/// An array may have the name that a function uses for a variable of its own.
#[test]
fn an_array_may_have_any_name() {
    for name in ["index", "code", "value", "word", "low", "bit", "ARRAY", "here", "index_here"] {
        for (array, elements) in [(Array::from(name), "u32"), (Array::of_vectors(name), "vec4<u32>")] {
            let mut functions = Functions::new("a").unwrap();
            for t in numeric() {
                functions.load_value(t, array).unwrap();
                functions.store_value(t, &CastOptions::default(), array).unwrap();
            }
            let variable = format!("@group(0) @binding(0) var<storage, read_write> {name}: array<{elements}>;");
            module(&format!("{}\n{variable}", functions.wgsl()));
        }
    }
}

/// Two prefixes could give two functions the same name only if the part of a name after an underscore were another
/// name.
#[test]
fn no_name_is_the_end_of_another() {
    let all = |values| declared(&module(&format!("{}{}", directive(values), everything("p", values).wgsl())));
    let names: BTreeSet<String> =
        [ValueType::F32, ValueType::F16].into_iter().flat_map(all).map(|name| name[2..].to_owned()).collect();
    let ends = |name: &str| name.match_indices('_').map(|(at, _)| name[at + 1..].to_owned()).collect::<Vec<_>>();
    for name in &names {
        assert!(ends(name).iter().all(|end| !names.contains(end)), "{name}");
    }
    // The keywords and reserved words of WGSL that a prefix and a name could form.
    for word in [
        "binding_array",
        "co_await",
        "co_return",
        "co_yield",
        "const_assert",
        "const_cast",
        "dynamic_cast",
        "reinterpret_cast",
        "static_assert",
        "static_cast",
        "thread_local",
        "wgpu_ray_query",
    ] {
        assert!(ends(word).iter().all(|end| !names.contains(end)), "{word}");
    }
}

/// Prefixes that are keywords, or reserved in the languages that drivers take.
#[test]
fn keywords_and_reserved_words_can_be_prefixes() {
    let spec = CastSpec::new(ElementType::DOUBLE, ElementType::FLOAT16);
    for prefix in ["fn", "u32", "gl", "main"] {
        let functions = wgsl::functions(&spec, prefix).unwrap();
        check(&functions, prefix, ValueType::F32);
        let text = format!("{}{}", functions.wgsl(), caller(&[functions.list().last().unwrap()]));
        for format in Format::ALL {
            translate(&text, format).unwrap_or_else(|e| panic!("{prefix}, {}: {e}\n{text}", format.name()));
        }
    }
}

/// Names that other modules rely on.
#[test]
fn names_say_what_is_converted() {
    let mut functions = Functions::new("x").unwrap();
    let options = CastOptions::default();
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E4M3FN);
    assert_eq!(functions.cast(&spec).unwrap().name(), "x_float_to_float8e4m3fn");
    let unsaturated = options.with_saturate(false);
    assert_eq!(functions.cast(&spec.with_options(unsaturated)).unwrap().name(), "x_float_to_float8e4m3fn_unsaturated");
    // An option that makes no difference is not in the name, and adds nothing.
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let one = functions.cast(&spec).unwrap();
    assert_eq!(functions.cast(&spec.with_options(unsaturated)).unwrap(), one);
    let array = "weights";
    assert_eq!(
        functions.load_value(ElementType::FLOAT6E2M3, array).unwrap().name(),
        "x_load_float6e2m3_as_f32_weights"
    );
    let store = functions.store_value(ElementType::FLOAT8E4M3FN, &unsaturated, array).unwrap();
    assert_eq!(store.name(), "x_store_float8e4m3fn_unsaturated_from_f32_weights");
    let table = functions.decode_table(ElementType::INT4).unwrap();
    assert_eq!((table.variable.as_str(), table.bytes), ("x_int4_to_f32_table", 2048));
    // An array of vectors changes only a function's text.
    let vectors = functions.store_value(ElementType::FLOAT8E4M3FN, &unsaturated, Array::of_vectors("blocks")).unwrap();
    assert_eq!(vectors.name(), "x_store_float8e4m3fn_unsaturated_from_f32_blocks");
    assert_eq!(functions.decode_vector(ElementType::FLOAT6E2M3).unwrap().name(), "x_float6e2m3_to_f32x64");
    assert_eq!(functions.encode_vector(ElementType::INT16, &options).unwrap().name(), "x_f32x8_to_int16");
    let mut halves = Functions::new("x").unwrap().with_values(ValueType::F16);
    let e4m3 = ElementType::FLOAT8E4M3FN;
    assert_eq!(halves.decode_word(e4m3).unwrap().name(), "x_float8e4m3fn_to_f16x4");
    assert_eq!(halves.encode(e4m3, &unsaturated).unwrap().name(), "x_f16_to_float8e4m3fn_unsaturated");
    assert_eq!(halves.load_value(e4m3, array).unwrap().name(), "x_load_float8e4m3fn_as_f16_weights");
    let store = halves.store_value(e4m3, &unsaturated, array).unwrap();
    assert_eq!(store.name(), "x_store_float8e4m3fn_unsaturated_from_f16_weights");
    let table = halves.decode_table(ElementType::INT4).unwrap();
    assert_eq!((table.variable.as_str(), table.bytes), ("x_int4_to_f16_table", 1024));
    let bytes = |functions: &mut Functions, from, to| functions.cast_table(&CastSpec::new(from, to)).unwrap().bytes;
    assert_eq!(bytes(&mut functions, ElementType::INT8, ElementType::DOUBLE), 2048);
    assert_eq!(bytes(&mut functions, ElementType::INT4, ElementType::FLOAT16), 64);
}

/// The names of two arrays can make one name of two functions. After the error nothing is written or taken.
#[test]
fn a_function_never_stands_for_that_of_another_array() {
    let (float, options) = (ElementType::FLOAT, CastOptions::default());
    type Ask = fn(&mut Functions, Array<'_>) -> Result<wgsl::Function, Error>;
    let asks: [[(Ask, &str); 2]; 2] = [
        [
            (|functions, array| functions.load(ElementType::FLOAT, array), "as_f32_"),
            (|functions, array| functions.load_value(ElementType::FLOAT, array), ""),
        ],
        [
            (|functions, array| functions.store(ElementType::FLOAT, array), "from_f32_"),
            (|functions, array| functions.store_value(ElementType::FLOAT, &CastOptions::default(), array), ""),
        ],
    ];
    for [code, value] in asks {
        for [(first, before), (second, after)] in [[code, value], [value, code]] {
            let mut functions = Functions::new("q").unwrap();
            let [known, taken] = [format!("{before}a"), format!("{after}a")];
            let written = first(&mut functions, Array::from(&known[..])).unwrap();
            let (text, list) = (functions.wgsl().to_owned(), functions.list().to_vec());
            for array in [Array::from(&taken[..]), Array::of_vectors(&taken)] {
                let error = second(&mut functions, array).unwrap_err();
                assert!(matches!(&error, Error::WgslName { name, taken: true, .. } if *name == taken), "{error}");
                assert_eq!((functions.wgsl(), functions.list()), (&text[..], &list[..]));
            }
            // The same function again.
            assert_eq!(first(&mut functions, Array::from(&known[..])).unwrap(), written);
            assert_eq!(functions.wgsl(), text);
            // The array of the refused name may still be one of vectors.
            functions.load(ElementType::INT4, Array::of_vectors(&taken)).unwrap();
        }
    }
    let mut functions = Functions::new("q").unwrap();
    assert_eq!(functions.load(float, "as_f32_a").unwrap().name(), "q_load_float_as_f32_a");
    assert_eq!(functions.load_value(float, "b").unwrap().name(), "q_load_float_as_f32_b");
    assert_eq!(functions.store_value(float, &options, "b").unwrap().name(), "q_store_float_from_f32_b");
}

#[test]
fn what_cannot_be_written_is_a_typed_error() {
    let strings = CastSpec::new(ElementType::STRING, ElementType::FLOAT);
    assert!(matches!(wgsl::functions(&strings, "a"), Err(Error::Cast { cause: CastFault::NoKernel, .. })));
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    assert!(matches!(wgsl::functions(&spec, "__a"), Err(Error::WgslName { .. })));
    let mut functions = Functions::new("a").unwrap();
    let no_codes = "string elements have no fixed width";
    let none = functions.wgsl().to_owned();
    let options = CastOptions::default();
    assert!(matches!(functions.decode(ElementType::STRING), Err(Error::Cast { cause: CastFault::NoKernel, .. })));
    assert_eq!(functions.decode_word(ElementType::STRING).unwrap_err().to_string(), no_codes);
    assert_eq!(functions.encode_four(ElementType::STRING, &options).unwrap_err().to_string(), no_codes);
    assert_eq!(functions.load(ElementType::STRING, "v").unwrap_err().to_string(), no_codes);
    assert!(matches!(functions.load(ElementType::FLOAT, "v w"), Err(Error::WgslName { .. })));
    assert!(matches!(functions.load(ElementType::FLOAT, "_"), Err(Error::WgslName { .. })));
    assert!(matches!(functions.decode_four(ElementType::FLOAT16), Err(Error::ElementWidth { allowed: 8, .. })));
    assert!(matches!(functions.decode_word(ElementType::FLOAT), Err(Error::ElementWidth { allowed: 16, .. })));
    assert!(matches!(
        functions.encode_word(ElementType::INT64, &options),
        Err(Error::ElementWidth { allowed: 16, .. })
    ));
    assert!(matches!(functions.store_atomic(ElementType::FLOAT, "v"), Err(Error::ElementWidth { allowed: 16, .. })));
    assert_eq!(functions.decode_vector(ElementType::STRING).unwrap_err().to_string(), no_codes);
    assert!(matches!(functions.decode_vector(ElementType::FLOAT), Err(Error::ElementWidth { allowed: 16, .. })));
    assert!(matches!(
        functions.encode_vector(ElementType::INT64, &options),
        Err(Error::ElementWidth { allowed: 16, .. })
    ));
    let vectors = Array::of_vectors;
    assert_eq!(functions.load(ElementType::STRING, vectors("v")).unwrap_err().to_string(), no_codes);
    assert!(matches!(functions.store(ElementType::FLOAT, vectors("v w")), Err(Error::WgslName { .. })));
    assert!(matches!(functions.lane(ElementType::DOUBLE), Err(Error::ElementWidth { allowed: 16, .. })));
    assert!(matches!(functions.decode_table(ElementType::FLOAT16), Err(Error::ElementWidth { allowed: 8, .. })));
    assert!(matches!(functions.cast_table(&spec), Err(Error::ElementWidth { allowed: 8, .. })));
    // A call that fails adds nothing.
    assert_eq!((functions.wgsl(), functions.list()), (&none[..], &[][..]));
}

/// One variable of a module has one type.
#[test]
fn an_array_of_other_elements_is_refused() {
    let options = CastOptions::default();
    let mut functions = Functions::new("a").unwrap();
    functions.load_value(ElementType::FLOAT16, "words").unwrap();
    functions.store_value(ElementType::INT8, &options, "words").unwrap();
    functions.store(ElementType::FLOAT, Array::of_vectors("vectors")).unwrap();
    functions.store_atomic(ElementType::INT4, "atomic").unwrap();
    let before = functions.wgsl().to_owned();
    let errors = [
        functions.load(ElementType::FLOAT, Array::of_vectors("words")),
        functions.store_atomic(ElementType::INT4, "words"),
        functions.load_value(ElementType::FLOAT, "vectors"),
        functions.store(ElementType::INT4, "atomic"),
        functions.store_value(ElementType::INT8, &options, Array::of_vectors("atomic")),
    ];
    for (error, name) in errors.into_iter().zip(["words", "words", "vectors", "atomic", "atomic"]) {
        let expected = format!(
            "\"{name}\" cannot be used in names of WGSL: an earlier function under the same prefix takes it for an array of \
             other elements, or has the name that this function would have"
        );
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    assert_eq!(functions.wgsl(), before);
}

/// Drivers may round in any direction. So WGSL's own conversion is used only for numbers that FLOAT holds exactly.
#[test]
fn only_wide_numbers_take_a_cast_to_decode() {
    use ElementType::*;
    let written = |t| {
        let mut functions = Functions::new("x").unwrap();
        functions.decode(t).unwrap();
        functions.list().iter().map(|function| function.name().to_owned()).collect::<Vec<_>>()
    };
    for t in [INT32, UINT32, INT64, UINT64, DOUBLE, BFLOAT16] {
        assert_eq!(written(t), [format!("x_{t}_to_float"), format!("x_{t}_to_f32")]);
    }
    for t in [INT16, UINT8, INT4, BOOL, FLOAT, FLOAT16] {
        assert_eq!(written(t), [format!("x_{t}_to_f32")]);
    }
}

/// Types are decoded directly if FLOAT16 holds all of their numbers. Others are cast to FLOAT16 first, with integers
/// only. The CPU path shows which types these are.
#[test]
fn numbers_that_f16_lacks_take_a_cast_to_decode() {
    let options = CastOptions::default();
    for t in numeric() {
        let mut functions = Functions::new("x").unwrap().with_values(ValueType::F16);
        functions.decode(t).unwrap();
        let written: Vec<_> = functions.list().iter().map(|function| function.name().to_owned()).collect();
        let codes = cases::codes(t);
        let tensor = Tensor::from_codes(t, [codes.len()], codes.iter().copied()).unwrap();
        let halves = cpu::cast(&tensor, ElementType::FLOAT16, &options).unwrap();
        let [exact, through] =
            [&tensor, &halves].map(|tensor| cpu::cast(tensor, ElementType::DOUBLE, &options).unwrap());
        let same = |(a, b): (u64, u64)| a == b || f64::from_bits(a).is_nan();
        if exact.codes().zip(through.codes()).all(same) {
            assert_eq!(written, [format!("x_{t}_to_f16")]);
        } else {
            let names = [format!("x_{t}_to_float16"), "x_float16_to_f32".to_owned(), format!("x_{t}_to_f16")];
            assert_eq!(written, names);
        }
    }
}

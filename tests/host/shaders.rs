//! Every kernel of every pair without a GPU: it parses, validates, and translates to the languages of GPUs' compilers.

use std::collections::BTreeSet;

use support::translate::{Format, translate};
use support::{numeric, texts};
use wgpu_cast::wgsl::{self, Kernel, KernelVariant};
use wgpu_cast::{CastSpec, Placement, Plan, PlanSettings, Position, View};

#[test]
fn every_kernel_translates_to_every_language() {
    let mut wrong = Vec::new();
    for (name, kernel) in texts::kernels() {
        for format in Format::ALL {
            match translate(kernel.wgsl(), format) {
                Ok(bytes) if bytes.len() > 500 => {}
                Ok(bytes) => wrong.push(format!("{name}, {}: {} bytes", format.name(), bytes.len())),
                Err(error) => wrong.push(format!("{name}, {}: {error}", format.name())),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, first: {}", wrong.len(), wrong[0]);
}

/// The kernels of plans that `wgsl::kernel` does not give: for slices that start anywhere, in one buffer and in place,
/// and for views.
#[test]
fn kernels_of_plans_translate_to_every_language() {
    let kernels = texts::plans(texts::specs_of_widths());
    assert!(kernels.len() > 900, "{} kernels", kernels.len());
    for (name, wgsl) in &kernels {
        for format in Format::ALL {
            let translated = translate(wgsl, format);
            let translated = translated.unwrap_or_else(|error| panic!("{name}, {}: {error}", format.name()));
            assert!(translated.len() > 500, "{name}, {}: {} bytes", format.name(), translated.len());
        }
    }
}

/// Float arithmetic differs between drivers, so no float type, value or function stands in any kernel.
#[test]
fn kernels_compute_with_integers_only() {
    let module = |wgsl: &str| naga::front::wgsl::parse_str(wgsl).unwrap();
    let is_float = |inner: &naga::TypeInner| inner.scalar_kind() == Some(naga::ScalarKind::Float);
    let poison = module("fn f() -> f32 { return 1.0; }");
    assert!(poison.types.iter().any(|(_, ty)| is_float(&ty.inner)), "the check sees a float");
    for (name, kernel) in texts::kernels() {
        let module = module(kernel.wgsl());
        assert!(module.types.iter().all(|(_, ty)| !is_float(&ty.inner)), "{name}");
        let functions = module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
        for function in functions {
            let literals = function.expressions.iter().chain(module.global_expressions.iter());
            for (_, expression) in literals {
                let float = matches!(
                    expression,
                    naga::Expression::Literal(
                        naga::Literal::F64(_)
                            | naga::Literal::F32(_)
                            | naga::Literal::F16(_)
                            | naga::Literal::AbstractFloat(_)
                    )
                );
                let cast = matches!(expression, naga::Expression::As { kind: naga::ScalarKind::Float, .. });
                assert!(!float && !cast, "{name}: {expression:?}");
            }
        }
    }
}

/// Tools read the first lines of a kernel.
#[test]
fn kernels_begin_with_what_they_are() {
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        let kernel = wgsl::kernel(&CastSpec::new(from, to), KernelVariant::Table).unwrap();
        let lines: Vec<&str> = kernel.wgsl().lines().take(4).collect();
        assert_eq!(lines[0], format!("// from: {from}"));
        assert_eq!(lines[1], format!("// to: {to}"));
        assert_eq!(lines[2], format!("// elements per invocation: {}", kernel.elements_per_invocation()));
        assert_eq!(lines[3], format!("// workgroup size: {}", kernel.workgroup_size()));
    }
}

/// Workgroup memory and workgroup size stay within what every WebGPU device has.
#[test]
fn kernels_stay_within_the_least_limits() {
    for (name, kernel) in texts::kernels() {
        let module = naga::front::wgsl::parse_str(kernel.wgsl()).unwrap();
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let workgroup = module.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup);
        let bytes: u32 = workgroup.map(|(_, v)| layouter[v.ty].size).sum();
        assert!(bytes <= 16352, "{name}: {bytes} bytes of workgroup memory");
        assert!(kernel.workgroup_size() <= 256, "{name}");
    }
}

#[test]
fn kernels_say_how_many_elements_an_invocation_converts() {
    use KernelVariant::{Edge, Table};
    use wgpu_cast::ElementType::*;
    for (from, to, variant, elements) in [
        (INT8, FLOAT16, Table, 64),
        (FLOAT, FLOAT16, Table, 4),
        (FLOAT, INT8, Edge, 4),
        (FLOAT, DOUBLE, Edge, 1),
        (FLOAT, FLOAT6E2M3, Edge, 7),
    ] {
        let kernel = wgsl::kernel(&CastSpec::new(from, to), variant).unwrap();
        assert_eq!(kernel.elements_per_invocation(), elements, "{from} to {to}");
    }
    let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
    let of_view = |to, view: View<'_>| -> Vec<u32> {
        let plan = Plan::view(&CastSpec::new(FLOAT, to), &view, &placement, &PlanSettings::default()).unwrap();
        plan.kernels().iter().map(Kernel::elements_per_invocation).collect()
    };
    let rows = View::new(&[3, 331]).with_source_strides(&[340, 1]);
    assert_eq!((of_view(FLOAT16, rows), of_view(FLOAT6E2M3, rows)), (vec![4, 2], vec![16, 7]));
    assert_eq!(of_view(FLOAT16, View::new(&[64, 64]).with_source_strides(&[1, 64])), [4]);
}

#[test]
fn codes_are_looked_up_where_the_variant_says() {
    use wgpu_cast::ElementType::*;
    let has = |from, to, what: &str| {
        [KernelVariant::Table, KernelVariant::Computed]
            .map(|variant| wgsl::kernel(&CastSpec::new(from, to), variant).unwrap().wgsl().contains(what))
    };
    for (from, to, expected) in [
        (INT8, FLOAT16, [true, false]),
        (FLOAT8E5M2, INT8, [true, false]),
        (INT4, INT16, [true, false]),
        (INT4, FLOAT16, [true, true]),
        (FLOAT16, INT8, [false, false]),
    ] {
        assert_eq!(has(from, to, "var<workgroup> table"), expected, "{from} to {to}");
    }
    assert_eq!([FLOAT16, INT16].map(|t| has(t, FLOAT4E2M1, "convert_eight(")), [[true, true], [false, true]]);
}

/// Words that earlier versions of naga, from 24 on, reserve in addition to those of today.
const RESERVED_EARLIER: [&str; 9] = [
    "CompileShader",
    "ComputeShader",
    "DomainShader",
    "GeometryShader",
    "Hullshader",
    "binding_array",
    "handle",
    "inout",
    "signed",
];

/// Engines on other versions of wgpu, browsers and other implementations of WebGPU compile the same texts.
#[test]
fn no_name_is_a_keyword_or_reserved_word_of_any_version() {
    let reserved: BTreeSet<&str> = naga::keywords::wgsl::RESERVED.iter().copied().chain(RESERVED_EARLIER).collect();
    let kernels = texts::kernels().into_iter().map(|(_, kernel)| kernel.wgsl().to_owned());
    let plans = texts::plans(texts::specs_of_widths()).into_iter().map(|(_, wgsl)| wgsl);
    let functions = texts::functions().into_iter().chain(texts::functions_of_f16()).map(|(_, wgsl)| wgsl);
    let names: BTreeSet<String> = kernels.chain(plans).chain(functions).flat_map(|wgsl| names(&wgsl)).collect();
    assert!(names.contains("sign_word"), "names of arguments are among them");
    let wrong: Vec<_> = names.iter().filter(|name| reserved.contains(name.as_str())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// All names that a text declares.
fn names(wgsl: &str) -> Vec<String> {
    let module = naga::front::wgsl::parse_str(wgsl).unwrap_or_else(|e| panic!("{}", e.emit_to_string(wgsl)));
    let mut names: Vec<Option<String>> = Vec::new();
    names.extend(module.types.iter().map(|(_, ty)| ty.name.clone()));
    names.extend(module.constants.iter().map(|(_, constant)| constant.name.clone()));
    names.extend(module.global_variables.iter().map(|(_, variable)| variable.name.clone()));
    for function in module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function)) {
        names.push(function.name.clone());
        names.extend(function.arguments.iter().map(|argument| argument.name.clone()));
        names.extend(function.local_variables.iter().map(|(_, variable)| variable.name.clone()));
        names.extend(function.named_expressions.values().cloned().map(Some));
    }
    names.into_iter().flatten().collect()
}

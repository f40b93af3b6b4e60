//! Every kernel of every pair without a GPU: it parses, validates, and translates to what GPUs' compilers take.

use support::numeric;
use support::options::variants;
use support::translate::{Format, translate};
use wgpu_cast::CastOptions;
use wgpu_cast::wgsl::{self, Kernel, KernelVariant};

/// Each distinct kernel text once, with what it is for.
fn all_kernels() -> Vec<(String, Kernel)> {
    let mut kernels = std::collections::BTreeMap::new();
    for from in numeric() {
        for to in numeric() {
            for options in variants(to) {
                for variant in KernelVariant::ALL {
                    let kernel = wgsl::kernel(from, to, &options, variant).unwrap();
                    let name = format!("{from} to {to} {options:?}");
                    kernels.entry(kernel.wgsl().to_owned()).or_insert((name, kernel));
                }
            }
        }
    }
    kernels.into_values().collect()
}

#[test]
fn every_kernel_translates_to_every_language() {
    let mut wrong = Vec::new();
    for (name, kernel) in all_kernels() {
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

/// Float arithmetic differs between drivers, so no float type, value or function stands in any kernel.
#[test]
fn kernels_compute_with_integers_only() {
    let module = |wgsl: &str| naga::front::wgsl::parse_str(wgsl).unwrap();
    let is_float = |inner: &naga::TypeInner| inner.scalar_kind() == Some(naga::ScalarKind::Float);
    let poison = module("fn f() -> f32 { return 1.0; }");
    assert!(poison.types.iter().any(|(_, ty)| is_float(&ty.inner)), "the check sees a float");
    for (name, kernel) in all_kernels() {
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

/// Tools read these lines.
#[test]
fn kernels_begin_with_what_they_are() {
    let options = CastOptions::default();
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        let kernel = wgsl::kernel(from, to, &options, KernelVariant::Table).unwrap();
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
    for (name, kernel) in all_kernels() {
        let module = naga::front::wgsl::parse_str(kernel.wgsl()).unwrap();
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let workgroup = module.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup);
        let bytes: u32 = workgroup.map(|(_, v)| layouter[v.ty].size).sum();
        assert!(bytes <= 16352, "{name}: {bytes} bytes of workgroup memory");
        assert!(kernel.workgroup_size() <= 256, "{name}");
    }
}

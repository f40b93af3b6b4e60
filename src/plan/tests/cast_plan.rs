//! Plans as their users see them.

use super::*;
use crate::error::Side;
use crate::kernel::{ParameterSpace, compose};
use crate::spec::CastSpec;

#[test]
fn a_plan_has_each_kernel_once() {
    let (spec, settings) = (CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16), PlanSettings::default());
    let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
    // 128 MiB of float are 2^25 elements; the second dispatch takes 1,024 and the third one the rest.
    let len = (1 << 25) + 1027;
    let plan = Plan::new(&spec, len, &placement, &settings).unwrap();
    let conversion = Conversion::new(spec.from, spec.to, &spec.options).unwrap();
    let text = |kind| {
        compose(&conversion, kind, Access::Separate, ParameterSpace::Uniform, settings.tuning.lookup).wgsl().to_owned()
    };
    let texts: Vec<_> = plan.kernels().iter().map(|kernel| kernel.wgsl()).collect();
    assert_eq!(texts, [text(KernelKind::Blocks), text(KernelKind::Edge)]);
    let kernels: Vec<_> = plan.dispatches().iter().map(PlannedDispatch::kernel).collect();
    assert_eq!(kernels, [0, 0, 1]);
    let planned = super::plan(&conversion, len, Offsets::default(), &settings, None).unwrap();
    for (dispatch, planned) in plan.dispatches().iter().zip(planned) {
        assert_eq!(dispatch.workgroups(), [planned.workgroups[0], planned.workgroups[1], 1]);
        let [source, destination]: [PlannedBinding; 2] = dispatch.bindings().collect::<Vec<_>>().try_into().unwrap();
        let about = |binding: &PlannedBinding| (binding.binding, binding.side, binding.read_only);
        assert_eq!([about(&source), about(&destination)], [(0, Side::Source, true), (1, Side::Destination, false)]);
        let range = |binding: &PlannedBinding| ByteRange { offset: binding.offset, size: binding.size };
        assert_eq!([range(&source), range(&destination)], [planned.source, planned.destination]);
        assert_eq!(dispatch.parameters(), planned.uniform_block().bytes());
    }
}

/// A binding over both tensors is the destination's.
#[test]
fn tensors_of_one_binding_have_one() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let bindings = |placement: &Placement, settings: &PlanSettings| -> Vec<_> {
        let plan = Plan::new(&spec, 8, placement, settings).unwrap();
        let about = |binding: PlannedBinding| (binding.binding, binding.offset, binding.size, binding.read_only);
        plan.dispatches()[0].bindings().map(about).collect()
    };
    let placement = Placement::one_buffer(Position::whole(0), Position::whole(4096));
    let mut settings = PlanSettings::default();
    assert_eq!(bindings(&placement, &settings), [(1, 0, 4112, false)]);
    // In bindings of their own, both of one buffer are writable.
    settings.limits.binding_size = 2048;
    assert_eq!(bindings(&placement, &settings), [(0, 0, 32, false), (1, 4096, 16, false)]);
}

#[test]
fn a_tensor_may_fill_a_buffer() {
    let (float, half) = (ElementType::FLOAT, ElementType::FLOAT16);
    let limits = PlanLimits { buffer_size: 1024, ..PlanLimits::default() };
    for (from, to) in [(float, half), (half, float)] {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        assert!(check_sizes(&conversion, [256, 256], &limits).is_ok());
        let error = check_sizes(&conversion, [257, 257], &limits).unwrap_err();
        let expected = "max_buffer_size";
        assert!(
            matches!(error, Error::Limit { limit, needed: 1028, allowed: 1024, .. } if limit == expected),
            "{error}"
        );
    }
}

/// The kernel for whole units takes over where enough elements follow those before the first unit.
#[test]
fn whole_units_follow_the_elements_before_them() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let kinds = |elements| {
        let dispatches = check(&conversion, elements, Offsets::two_buffers(28, 14), &PlanSettings::default(), None);
        dispatches.iter().map(|d| d.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(1 + 1023), [KernelKind::Edge]);
    assert_eq!(kinds(1 + 1024), [KernelKind::Edge, KernelKind::Blocks]);
}

//! Plans as their users see them.

use super::*;
use crate::kernel::{ParameterSpace, compose};
use crate::types::error::{CastFault, Error};
use crate::types::side::Side;
use crate::types::spec::CastSpec;

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

/// A binding over both tensors belongs to the destination.
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
    // With a binding each in one buffer, both are writable.
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
        let is_limit = matches!(
            error,
            Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", needed: 1028, allowed: 1024 }, .. }
        );
        assert!(is_limit, "{error}");
    }
}

/// The kernel for whole units is used if enough elements follow those before the first unit.
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

/// One dispatch takes all the elements that the workgroups of two dimensions can cast.
#[test]
fn a_dispatch_has_as_many_elements_as_its_workgroups() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    for lookup in [CodeLookup::Table, CodeLookup::Computed] {
        let limits = PlanLimits { workgroups: 3, ..PlanLimits::default() };
        let settings = PlanSettings { limits, tuning: PlanTuning { lookup, ..PlanTuning::default() } };
        let units = Units::new(&conversion, KernelKind::Blocks, Access::Separate, lookup);
        let most = 9 * u64::from(units.per_workgroup());
        let len = |elements| check(&conversion, elements, Offsets::default(), &settings, None).len();
        assert_eq!([len(most), len(most + 1), len(2 * most)], [1, 2, 2], "{lookup:?}");
    }
}

/// Two tensors of one buffer are bound as one range if a binding is large enough for it.
#[test]
fn tensors_of_one_buffer_take_one_dispatch_if_it_fits() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let dispatches = |binding_size| {
        let limits = PlanLimits { binding_size, ..PlanLimits::default() };
        let settings = PlanSettings { limits, ..PlanSettings::default() };
        check(&conversion, 4096, Offsets::one_buffer(0, 4 * 4096), &settings, None)
    };
    let [one] = &dispatches(6 * 4096)[..] else { panic!("more than one dispatch") };
    assert_eq!(one.access, Access::Shared);
    let apart = dispatches(6 * 4096 - 4);
    assert!(apart.len() > 1);
}

#[test]
fn limits_are_whole_words() {
    let limits =
        PlanLimits { binding_size: 1027, buffer_size: 2055, offset_alignment: 33, ..PlanLimits::default() }.usable();
    assert_eq!((limits.binding_size, limits.buffer_size, limits.offset_alignment), (1024, 2052, 64));
    let limits = PlanLimits { binding_size: 1 << 40, offset_alignment: 0, ..PlanLimits::default() }.usable();
    assert_eq!((limits.binding_size, limits.offset_alignment), ((1 << 32) - 4, 4));
}

/// A binding also holds the sentinel, and the bytes between its start and the first element.
#[test]
fn chunks_fill_bindings() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    // The elements of the first dispatch for whole units, of four elements each.
    let first = |elements, offsets, binding_size| {
        let limits = PlanLimits { binding_size, ..PlanLimits::default() };
        let settings = PlanSettings { limits, ..PlanSettings::default() };
        let dispatches = check(&conversion, elements, offsets, &settings, None);
        4 * dispatches.iter().find(|dispatch| dispatch.kind == KernelKind::Blocks).unwrap().params.count
    };
    let (start, aligned, others) = (Offsets::default(), Offsets::two_buffers(256, 512), Offsets::two_buffers(16, 16));
    // All in one binding, or chunks of 128 elements, which are 256 bytes on either side.
    for (offsets, lead) in [(start, 0), (aligned, 0), (others, 256)] {
        let size = 80 * 128 * 4 + lead;
        assert_eq!([size, size + 4].map(|size| first(10_239, offsets, size)), [10_236; 2]);
        assert_eq!([size, size + 4].map(|size| first(10_241, offsets, size)), [79 * 128, 80 * 128]);
    }
}

/// Engines use kernels as the keys of their pipelines.
#[test]
#[allow(clippy::mutable_key_type, reason = "kernels are compared and hashed by which one they are")]
fn kernels_of_equal_conversions_are_equal() {
    use std::collections::HashSet;

    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
    let kernels = |spec: &CastSpec, len, settings: &PlanSettings| {
        let plan = Plan::new(spec, len, &placement, settings).unwrap();
        plan.kernels().iter().cloned().collect::<HashSet<_>>()
    };
    let settings = PlanSettings::default();
    let long = kernels(&spec, 8195, &settings);
    assert_eq!(long.len(), 2);
    // `saturate` makes no difference for FLOAT16.
    let options = CastOptions::default().with_saturate(false);
    assert_eq!(kernels(&spec.with_options(options), 8195, &settings), long);
    let short = kernels(&spec, 3, &settings);
    assert!(short.len() == 1 && short.is_subset(&long));
    let computed = PlanSettings { tuning: settings.tuning.with_lookup(CodeLookup::Computed), ..settings };
    assert!(kernels(&spec, 8195, &computed).is_disjoint(&long));
    let text: Vec<_> = short.iter().map(|kernel| (kernel.wgsl().to_owned(), kernel.workgroup_size())).collect();
    assert_eq!(text, short.iter().map(|kernel| (kernel.clone().wgsl().to_owned(), 64)).collect::<Vec<_>>());
}

/// What `Prepared::bind` refuses in slices of wgpu, without a device.
#[test]
fn slices_are_checked_in_numbers() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::INT4);
    let slice = |position, size| PlannedSlice { position, size, buffer_size: 64, has_storage: true };
    let text = |slice: PlannedSlice, side| slice.check(&spec, side, 5).map_err(|error| error.to_string());
    let (source, destination) = (Side::Source, Side::Destination);
    let whole = slice(Position::whole(8), 20);
    assert_eq!(text(whole, source), Ok(()));
    // Three bytes, or whole words.
    for size in [3, 4] {
        assert_eq!(text(slice(Position::whole(60), size), destination), Ok(()));
    }
    assert_eq!(text(slice(Position::part(60, 1), 3), destination), Ok(()));
    let error = |rest: &str| Err(format!("casting float to int4: {rest}"));
    assert_eq!(
        text(slice(Position::whole(8), 24), source),
        error(
            "the source slice needs 20 bytes to hold the cast's elements, got 24; a longer slice is given as \
             Source::part(slice, 0)"
        )
    );
    let end = |side: &str, offset: u64, end: u64| {
        error(&format!(
            "the elements in the {side} slice at byte {offset} end at byte {end} (in whole 32-bit words), but the \
             buffer has 64 bytes"
        ))
    };
    assert_eq!(text(slice(Position::whole(48), 20), source), end("source", 48, 68));
    assert_eq!(text(slice(Position::whole(u64::MAX), 20), source), end("source", u64::MAX, u64::MAX));
    assert_eq!(
        text(slice(Position::part(0, u64::MAX), 64), source),
        error(&format!("the source slice needs {} bytes to hold the cast's elements, got 64", u64::MAX))
    );
    // Sizes around the largest number, whose words it does not hold.
    let bytes = CastSpec::new(ElementType::FLOAT, ElementType::INT8);
    for first in u64::MAX - 12..=u64::MAX {
        for size in [64, u64::MAX - 7, u64::MAX] {
            let slice = slice(Position::part(0, first), size);
            let fault = slice.check(&bytes, destination, 5).unwrap_err();
            assert!(matches!(fault, Error::Cast { cause: CastFault::Slice { .. }, .. }), "{first}, {size}: {fault}");
        }
        let further = slice(Position::whole(0), 64).check(&bytes, destination, first).unwrap_err();
        assert!(matches!(further, Error::Cast { cause: CastFault::Slice { .. }, .. }), "{first}: {further}");
    }
    let unusable = PlannedSlice { has_storage: false, ..whole };
    assert_eq!(text(unusable, source), error("the source buffer lacks the usage STORAGE"));
    let strings = CastSpec::new(ElementType::STRING, ElementType::INT4);
    let Err(Error::Cast { cause: CastFault::NoKernel, .. }) = whole.check(&strings, source, 5) else { panic!() };
}

#[test]
fn views_tell_their_extents() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let view = View::new(&[100, 60]).with_destination_strides(&[-128, 1]);
    assert_eq!(view.extents(&spec), Ok([6000, 99 * 128 + 60]));
    assert_eq!(View::new(&[3, 0]).extents(&spec), Ok([0, 0]));
    let error = View::new(&[2, 2]).with_destination_strides(&[1, 1]).extents(&spec).unwrap_err();
    assert_eq!(error.to_string(), "casting float to float16: the elements of the destination overlap along axis 0");
}

//! The GPU path on any adapter, llvmpipe included: against the oracle, against the CPU path, and in the caller's
//! buffers.

use support::buffers::{buffer, own_device, read};
use support::options::variants;
use support::tier::Tier;
use support::unrolled::{converts_one_by_one, main_kernel, stands_for_others};
use support::{adapter, cases, numeric, oracle};
use wgpu_cast::wgsl::{self, Kernel, KernelVariant};
use wgpu_cast::{
    CastOptions, CastSpec, Caster, CasterDescriptor, CodeLookup, Context, Destination, ElementType, Placement, Plan,
    PlanLimits, PlanSettings, PlanTuning, Position, Source, Tensor, cpu,
};

/// Every pair from one source type. Compiling kernels is nearly all of the work, and a kernel is a conversion within a
/// text that pairs of the same widths share, so that the two are tested apart:
///
/// - The conversion of every pair under every option casts hard codes in the adapter's main kernel, against the oracle.
///   Where the main kernel has no `fn convert`, since it copies codes or converts several at once, the edge kernel casts
///   them, too.
/// - For each text without its conversion, one pair casts awkward lengths, and hard codes under every option, in this
///   kernel. `support::unrolled` compares the texts. With `WGPU_CAST_TESTS=exhaustive` every pair does so.
macro_rules! sources {
    ($($name:ident $element_type:ident)*) => {$(
        #[test]
        fn $name() {
            let context = adapter::open();
            let casters = Casters::new(&context);
            let codes = cases::codes(ElementType::$element_type);
            for to in numeric() {
                hard_codes(&context, &codes, ElementType::$element_type, to);
                in_every_kernel(&context, &casters, &codes, ElementType::$element_type, to);
            }
        }
    )*

        #[test]
        fn every_source_type_has_its_test() {
            let sources = [$(ElementType::$element_type),*];
            assert!(numeric().eq(sources), "add the new type to sources! in tests/device/gpu.rs");
        }
    };
}

sources! {
    from_float FLOAT from_uint8 UINT8 from_int8 INT8 from_uint16 UINT16 from_int16 INT16 from_int32 INT32
    from_int64 INT64 from_bool BOOL from_float16 FLOAT16 from_double DOUBLE from_uint32 UINT32 from_uint64 UINT64
    from_bfloat16 BFLOAT16 from_float8e4m3fn FLOAT8E4M3FN from_float8e4m3fnuz FLOAT8E4M3FNUZ
    from_float8e5m2 FLOAT8E5M2 from_float8e5m2fnuz FLOAT8E5M2FNUZ from_uint4 UINT4 from_int4 INT4
    from_float4e2m1 FLOAT4E2M1 from_float8e8m0 FLOAT8E8M0 from_uint2 UINT2 from_int2 INT2
    from_float6e2m3 FLOAT6E2M3 from_float6e3m2 FLOAT6E3M2
}

/// A caster for each kernel, whatever the adapter is. A test has one set of casters, because compiling kernels is most
/// of its work.
struct Casters {
    /// Sources of at most 8 bits by a table in workgroup memory.
    tables: Caster,
    /// All codes are computed, as on software adapters.
    computed: Caster,
    /// The kernel for ends and small tensors.
    edge: Caster,
}

impl Casters {
    fn new(context: &Context) -> Self {
        let [mut tables, mut computed, mut edge] = [PlanTuning::default(); 3];
        (tables.lookup, tables.blocks_from) = (CodeLookup::Table, Some(0));
        (computed.lookup, computed.blocks_from) = (CodeLookup::Computed, Some(0));
        edge.blocks_from = Some(u64::MAX);
        let [tables, computed, edge] = [tables, computed, edge].map(|tuning| {
            Caster::with_descriptor(
                context.device().unwrap(),
                &CasterDescriptor { limits: Some(PlanLimits::default()), tuning: Some(tuning), ..Default::default() },
            )
        });
        Self { tables, computed, edge }
    }
}

/// Every hard code, in the main kernel.
fn hard_codes(context: &Context, codes: &[u64], from: ElementType, to: ElementType) {
    let mut codes = codes.to_vec();
    while !takes_main_kernel(context, CastSpec::new(from, to), codes.len()) {
        codes.extend_from_within(..);
    }
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    for options in variants(to) {
        let (result, report) = pollster::block_on(context.cast(&tensor, to, &options)).unwrap();
        assert_eq!(report.route, wgpu_cast::Route::Gpu);
        let oracle = oracle(from, to, &options);
        let wrong = codes.iter().zip(result.codes()).filter_map(|(&code, got)| {
            let expected = oracle.expected(code);
            (got != expected).then(|| format!("{code:x}: {got:x}, expected {expected:x}"))
        });
        let wrong: Vec<String> = wrong.take(5).collect();
        assert!(wrong.is_empty(), "{from} to {to} {options:?}\n{}", wrong.join("\n"));
    }
}

/// Whether a cast of this many elements takes the adapter's main kernel.
fn takes_main_kernel(context: &Context, spec: CastSpec, len: usize) -> bool {
    let caster = context.caster().unwrap();
    let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
    let settings = PlanSettings::new(*caster.limits(), *caster.tuning());
    let plan = Plan::new(&spec, len as u64, &placement, &settings).unwrap();
    let main = wgsl::kernel(&spec, main_kernel(caster.tuning().lookup)).unwrap();
    plan.kernels().iter().map(Kernel::wgsl).any(|text| text == main.wgsl())
}

/// In each kernel for which the pair stands for others: awkward lengths, and hard codes under every option.
fn in_every_kernel(context: &Context, casters: &Casters, codes: &[u64], from: ElementType, to: ElementType) {
    let main = main_kernel(context.caster().unwrap().tuning().lookup);
    let exhaustive = Tier::chosen() == Tier::Exhaustive;
    for (caster, variant) in [
        (&casters.tables, KernelVariant::Table),
        (&casters.computed, KernelVariant::Computed),
        (&casters.edge, KernelVariant::Edge),
    ] {
        let stands = exhaustive || stands_for_others(from, to, variant);
        if stands {
            awkward_lengths(context, caster, from, to);
        }
        if stands || variant == KernelVariant::Edge && !converts_one_by_one(from, to, main) {
            every_option(context, caster, codes, from, to);
        }
    }
}

/// Every length around lanes, words and units, between guard bytes in a destination that is filled with `POISON`.
fn awkward_lengths(context: &Context, caster: &Caster, from: ElementType, to: ElementType) {
    let lengths: Vec<usize> =
        (1..=17).chain([23, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 257, 1023, 1025]).collect();
    let codes = cases::random(from, 1025, 11);
    let tensors = lengths.iter().map(|&n| Tensor::from_codes(from, [n], codes[..n].iter().copied()).unwrap());
    let tensors: Vec<Tensor> = tensors.collect();
    check_regions(context, caster, &tensors, CastSpec::new(from, to));
}

/// Hard codes under every option.
fn every_option(context: &Context, caster: &Caster, codes: &[u64], from: ElementType, to: ElementType) {
    let some = codes.iter().step_by(codes.len().div_ceil(3000)).cycle().take(3000);
    let tensor = Tensor::from_codes(from, [3000], some.copied()).unwrap();
    for options in variants(to) {
        check_regions(context, caster, std::slice::from_ref(&tensor), CastSpec::new(from, to).with_options(options));
    }
}

const GUARD: usize = 256;
const POISON: u8 = 0xa5;

/// Casts each tensor between slices of two large buffers, all recorded into one encoder of the caller.
fn check_regions(context: &Context, caster: &Caster, tensors: &[Tensor], spec: CastSpec) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let (from, to) = (spec.from, spec.to);
    let place = |at: &mut usize, bytes: usize| {
        let start = at.next_multiple_of(256);
        *at = start + bytes + GUARD;
        start
    };
    let (mut source_end, mut end) = (0, GUARD);
    let places: Vec<_> = tensors
        .iter()
        .map(|tensor| {
            let bytes = to.packed_bytes(tensor.len() as u64).unwrap() as usize;
            (place(&mut source_end, tensor.bytes().unwrap().len()), place(&mut end, bytes), bytes)
        })
        .collect();
    let source = buffer(device, source_end as u64);
    let destination = buffer(device, end as u64);
    // In the source, too, pad bits and the bits after them are not zero.
    let mut sources = vec![0xff; source.size() as usize];
    for (tensor, &(at, _, _)) in tensors.iter().zip(&places) {
        let bytes = tensor.bytes().unwrap();
        sources[at..at + bytes.len()].copy_from_slice(bytes);
        let used = (tensor.len() * from.bits().unwrap() as usize) % 8;
        if used > 0 {
            sources[at + bytes.len() - 1] |= 0xff << used;
        }
    }
    queue.write_buffer(&source, 0, &sources);
    let mut expected = vec![POISON; destination.size() as usize];
    queue.write_buffer(&destination, 0, &expected);
    let mut encoder = device.create_command_encoder(&Default::default());
    for (tensor, &(source_at, at, bytes)) in tensors.iter().zip(&places) {
        let prepared = caster.prepare(&spec, tensor.len() as u64).unwrap();
        let source_bytes = tensor.bytes().unwrap().len() as u64;
        let (source_at, start) = (source_at as u64, at as u64);
        let slice = destination.slice(start..start + bytes as u64);
        prepared
            .record(
                &mut encoder,
                Source::whole(source.slice(source_at..source_at + source_bytes)),
                Destination::whole(slice),
            )
            .unwrap();
        let cast = cpu::cast(tensor, to, &spec.options).unwrap();
        expected[at..at + bytes].copy_from_slice(cast.bytes().unwrap());
    }
    let got = read(device, queue, encoder, &destination);
    if let Some(wrong) = (0..got.len()).find(|&i| got[i] != expected[i]) {
        let (i, (_, at, bytes)) =
            places.iter().enumerate().rfind(|(_, (_, at, _))| *at <= wrong).unwrap_or((0, &places[0]));
        panic!(
            "{from} to {to}, {} elements in bytes {at}..{}: byte {wrong} is {:02x}, expected {:02x}",
            tensors[i].len(),
            at + bytes,
            got[wrong],
            expected[wrong]
        );
    }
}

fn pairs_of_every_shape() -> Vec<(ElementType, ElementType)> {
    use ElementType::*;
    vec![
        (FLOAT, FLOAT16),
        (FLOAT, INT4),
        (DOUBLE, FLOAT6E2M3),
        (FLOAT6E3M2, DOUBLE),
        (FLOAT6E2M3, FLOAT6E3M2),
        (FLOAT6E2M3, FLOAT6E2M3),
        (INT2, INT64),
        (INT2, UINT2),
        (INT64, INT2),
        (BOOL, BOOL),
        (FLOAT8E5M2, FLOAT8E5M2),
        (FLOAT8E4M3FN, FLOAT4E2M1),
        (FLOAT16, FLOAT),
        (UINT4, UINT8),
    ]
}

#[test]
fn small_limits_split_without_a_seam() {
    let context = adapter::open();
    let device = context.device().unwrap();
    let (own, gpu) = (PlanLimits::default(), PlanTuning::default());
    let (mut tight, mut narrow) = (own, own);
    (tight.binding_size, narrow.workgroups) = (64 << 10, 3);
    let (mut blocks, mut capped) = (gpu, gpu);
    (blocks.blocks_from, capped.dispatch_elements) = (Some(0), 3000);
    for (from, to) in pairs_of_every_shape() {
        for (limits, tuning, len) in [(tight, blocks, 100_003), (own, capped, 10_007), (narrow, blocks, 50_021)] {
            let caster = Caster::with_descriptor(
                device,
                &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
            );
            let codes = cases::random(from, len, 5);
            let tensor = Tensor::from_codes(from, [len], codes).unwrap();
            let dispatches = caster.prepare(&CastSpec::new(from, to), len as u64).unwrap().dispatches();
            assert!(dispatches > 1 || limits == tight && from.bits() < Some(8), "{from} to {to}: {dispatches}");
            check_regions(&context, &caster, &[tensor], CastSpec::new(from, to));
        }
    }
}

/// Some systems reset a device that works for long on one dispatch.
#[test]
fn batches_cast_few_elements_in_a_dispatch() {
    const MOST: usize = 1 << 26;
    let (from, to, len) = (ElementType::INT2, ElementType::FLOAT4E2M1, 2 * MOST + 8);
    let tensor = Tensor::from_bytes(from, [len], [0x1b, 0xb1].repeat(len / 8)).unwrap();
    let expected = cpu::cast(&tensor, to, &CastOptions::default()).unwrap();
    let (result, report) = crate::batches::chain(&adapter::open(), tensor, &[to]).unwrap();
    assert!(report.dispatches >= 3, "{report:?}");
    assert!(result == expected);
}

/// A tensor past the binding limit of llvmpipe and of WebGPU's defaults, 128 MiB.
#[test]
fn a_tensor_beyond_the_binding_limit() {
    let context = adapter::open();
    let len = (1 << 25) + 5001;
    let values = cases::random(ElementType::FLOAT, 100_003, 3);
    let codes = values.iter().copied().cycle().take(len);
    let tensor = Tensor::from_codes(ElementType::FLOAT, [len], codes).unwrap();
    let (result, report) =
        pollster::block_on(context.cast(&tensor, ElementType::BFLOAT16, &Default::default())).unwrap();
    assert!(report.dispatches >= 2, "{report:?}");
    assert_eq!(result, cpu::cast(&tensor, ElementType::BFLOAT16, &Default::default()).unwrap());
}

/// More elements than a chunk of host memory takes.
#[test]
fn a_tensor_of_several_chunks() {
    let context = adapter::open();
    let len = (1 << 26) + 4099;
    let bytes = (0..len).map(|i: usize| (i % 251) as u8).collect();
    let tensor = Tensor::from_bytes(ElementType::FLOAT8E5M2, [len], bytes).unwrap();
    let (result, report) = pollster::block_on(context.cast(&tensor, ElementType::INT4, &Default::default())).unwrap();
    assert!(report.dispatches >= 3, "{report:?}");
    assert_eq!(result, cpu::cast(&tensor, ElementType::INT4, &Default::default()).unwrap());
}

#[test]
fn one_bound_cast_records_any_number_of_times_and_into_a_pass() {
    let context = adapter::open();
    let (device, queue, caster) = (context.device().unwrap(), context.queue().unwrap(), context.caster().unwrap());
    let prepared = caster.prepare(&CastSpec::new(ElementType::FLOAT, ElementType::INT8), 5).unwrap();
    assert_eq!((prepared.source_bytes(), prepared.destination_bytes()), (20, 5));
    let (source, destination) = (buffer(device, 20), buffer(device, 8));
    let bound = prepared.bind(Source::whole(source.slice(..)), Destination::whole(destination.slice(..))).unwrap();
    for (round, values) in [[1.5f32, -2.5, 3.0, 300.0, 0.0], [7.0, 8.0, 9.0, 10.0, -1.0]].iter().enumerate() {
        queue.write_buffer(&source, 0, bytemuck::cast_slice(values));
        queue.write_buffer(&destination, 0, &[POISON; 8]);
        let mut encoder = device.create_command_encoder(&Default::default());
        if round == 0 {
            bound.record(&mut encoder);
            bound.record(&mut encoder);
        } else {
            bound.record_in_pass(&mut encoder.begin_compute_pass(&Default::default()));
        }
        let expected = values.map(|v| v as i32 as u8);
        let got = read(device, queue, encoder, &destination);
        assert_eq!((&got[..5], &got[5..]), (&expected[..], &[POISON; 3][..]));
    }
}

/// A device of an engine's own, with the least limits and no feature.
#[test]
fn a_caster_needs_no_more_than_the_least_limits() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    let values: Vec<f32> = (0..9001).map(|i| i as f32 * 0.37 - 900.0).collect();
    let tensor = Tensor::from_slice([9001], &values).unwrap();
    let (source, destination) = (buffer(&device, 36_004), buffer(&device, 18_004));
    queue.write_buffer(&source, 0, tensor.bytes().unwrap());
    let prepared = caster.prepare(&CastSpec::new(ElementType::FLOAT, ElementType::INT16), 9001).unwrap();
    assert_eq!(prepared.dispatches(), 2, "blocks and edge");
    let mut encoder = device.create_command_encoder(&Default::default());
    prepared.record(&mut encoder, Source::whole(source.slice(..)), Destination::whole(destination.slice(..))).unwrap();
    // The caster and what it prepared may go before the commands run.
    drop((prepared, caster));
    let expected = cpu::cast(&tensor, ElementType::INT16, &Default::default()).unwrap();
    let got = read(&device, &queue, encoder, &destination);
    assert_eq!((&got[..18_002], &got[18_002..]), (expected.bytes().unwrap(), &[0; 2][..]));
}

#[test]
fn an_empty_cast_needs_no_buffers_and_a_scalar_takes_one_dispatch() {
    let context = adapter::open();
    let caster = context.caster().unwrap();
    let empty = caster.prepare(&CastSpec::new(ElementType::FLOAT, ElementType::INT4), 0).unwrap();
    assert_eq!(empty.dispatches(), 0);
    let scalar = Tensor::from_slice([], &[2.75f32]).unwrap();
    let (result, report) = pollster::block_on(context.cast(&scalar, ElementType::INT4, &Default::default())).unwrap();
    assert_eq!((result.bytes().unwrap(), result.shape(), report.dispatches), (&[2u8][..], &[][..], 1));
    let none = Tensor::from_slice([0, 7], &[] as &[f32]).unwrap();
    let (result, report) = pollster::block_on(context.cast(&none, ElementType::INT4, &Default::default())).unwrap();
    assert_eq!((result.shape(), report.dispatches), (&[0, 7][..], 0));
}

#[test]
fn eight_threads_share_a_context() {
    let context = adapter::open();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let context = &context;
            scope.spawn(move || {
                for round in 0..25 {
                    let (from, to) = pairs_of_every_shape()[(thread + round) as usize % 14];
                    let len = 1 + (thread * 31 + round * 3977) as usize % 20_000;
                    let codes = cases::random(from, len, thread * 100 + round);
                    let tensor = Tensor::from_codes(from, [len], codes).unwrap();
                    let (result, _) = pollster::block_on(context.cast(&tensor, to, &Default::default())).unwrap();
                    assert_eq!(result, cpu::cast(&tensor, to, &Default::default()).unwrap(), "{from} to {to}");
                }
            });
        }
    });
}

#[test]
fn cast_like_takes_only_the_element_type() {
    let context = adapter::open();
    let tensor = Tensor::from_slice([2], &[1i64, -1]).unwrap();
    let like = Tensor::from_bytes(ElementType::UINT4, [0, 5], vec![]).unwrap();
    let (result, _) = pollster::block_on(context.cast_like(&tensor, &like, &Default::default())).unwrap();
    assert_eq!(
        (result.element_type(), result.shape(), result.bytes().unwrap()),
        (ElementType::UINT4, &[2][..], &[0xf1][..])
    );
}

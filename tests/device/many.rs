//! Many casts that are bound at once: the bits are those of single casts, and every other bit is unchanged.

use support::buffers::{buffer, own_device, read_all};
use support::planned::noise;
use support::random::Random;
use support::{bits, cast_error, pairs_of_widths};
use wgpu_cast::wgpu;
use wgpu_cast::{
    Bound, CastOptions, CastSpec, Caster, CasterDescriptor, CodeLookup, Coverage, Destination, ElementType, Source,
    Tensor, cpu,
};

/// One of many casts: for each side the buffer, the byte where the larger tensor starts, and the elements before the
/// part.
#[derive(Clone, Copy, Debug)]
struct Case {
    source: (usize, u64, u64),
    destination: (usize, u64, u64),
    len: u64,
}

/// Records `bound` by itself and in a list, between buffers with the bytes `before`, and compares all bytes of all
/// buffers.
pub(crate) fn expect_bytes(
    (device, queue): (&wgpu::Device, &wgpu::Queue),
    bound: &Bound,
    (buffers, before, expected): (&[wgpu::Buffer], &[Vec<u8>], &[Vec<u8>]),
    what: &str,
) {
    for among_others in [false, true] {
        buffers.iter().zip(before).for_each(|(buffer, bytes)| queue.write_buffer(buffer, 0, bytes));
        let mut encoder = device.create_command_encoder(&Default::default());
        if among_others {
            Bound::record_all([bound], &mut encoder);
        } else {
            bound.record(&mut encoder);
        }
        let got = read_all(device, queue, encoder, &buffers.iter().collect::<Vec<_>>());
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
            assert_eq!(wrong, None, "buffer {which}, {what}");
        }
    }
}

/// Binds and records casts between buffers of `sizes` bytes, and compares all bytes of all buffers. Returns the number
/// of dispatches.
fn check(
    (device, queue, caster): (&wgpu::Device, &wgpu::Queue, &Caster),
    (from, to): (ElementType, ElementType),
    cases: &[Case],
    sizes: &[u64],
) -> usize {
    let before: Vec<_> = (0..).zip(sizes).map(|(seed, &size)| noise(size as usize, seed)).collect();
    let buffers: Vec<_> = before.iter().map(|bytes| buffer(device, bytes.len() as u64)).collect();
    let part = |(which, offset, first): (usize, u64, u64)| (buffers[which].slice(offset..), first);
    let casts = cases.iter().map(|case| {
        let ((source, first), (destination, at)) = (part(case.source), part(case.destination));
        (Source::part(source, first), Destination::part(destination, at), case.len)
    });
    let bound = caster.bind_many(&CastSpec::new(from, to), casts).unwrap();
    let mut expected = before.clone();
    let [from_bits, to_bits] = [from, to].map(|t| u64::from(t.bits().unwrap()));
    for Case { source, destination, len } in cases {
        let start = |(_, offset, first): (usize, u64, u64), bits| 8 * offset + first * bits;
        let (from_bit, to_bit) = (start(*source, from_bits), start(*destination, to_bits));
        let codes = (0..*len).map(|i| bits::get(&before[source.0], from_bit + i * from_bits, from_bits as u32));
        let tensor = Tensor::from_codes(from, [*len as usize], codes).unwrap();
        for (i, code) in cpu::cast(&tensor, to, &CastOptions::default()).unwrap().codes().enumerate() {
            bits::set(&mut expected[destination.0], to_bit + i as u64 * to_bits, to_bits as u32, code);
        }
    }
    expect_bytes((device, queue), &bound, (&buffers, &before, &expected), &format!("{from} to {to}, {cases:?}"));
    bound.dispatches().len()
}

/// Random casts between pools, as close to each other as elements can be.
fn random(
    numbers: &mut Random,
    from: ElementType,
    to: ElementType,
    casts: usize,
    one_buffer: bool,
) -> (Vec<Case>, Vec<u64>) {
    let [from_bits, to_bits] = [from, to].map(|t| u64::from(t.bits().unwrap()));
    let lens: Vec<u64> = (0..casts)
        .map(|_| {
            let most = if numbers.one_in(4) { 400 } else { 20 };
            numbers.below(most) as u64
        })
        .collect();
    let elements: u64 = lens.iter().map(|len| len + 3).sum();
    let bytes = |bits: u64| (elements * bits).div_ceil(8).next_multiple_of(8);
    let second = if one_buffer { 8 + bytes(from_bits) } else { 8 };
    let (mut source, mut destination) = (0, 0);
    let cases = lens.iter().map(|&len| {
        source += numbers.below(2) as u64;
        destination += numbers.below(3) as u64;
        let pool = if one_buffer { 0 } else { 1 };
        let case = Case { source: (0, 8, source), destination: (pool, second, destination), len };
        source += len;
        destination += len;
        case
    });
    let cases = cases.collect();
    let sizes = [second + bytes(from_bits).max(bytes(to_bits)) + 64, second + bytes(to_bits) + 64];
    (cases, sizes[..if one_buffer { 1 } else { 2 }].to_vec())
}

/// After that, binding a list compiles nothing, also where casts share no dispatch.
#[test]
fn warm_up_compiles_the_kernels_of_lists() {
    let (device, _) = own_device();
    let pipelines = || device.get_internal_counters().hal.compute_pipelines.read();
    for (from, to) in pairs_of_widths().into_iter().step_by(3) {
        let spec = CastSpec::new(from, to);
        for (coverage, first, one_buffer) in
            [(Coverage::Aligned, 0, false), (Coverage::Anywhere, 3, false), (Coverage::OneBuffer, 3, true)]
        {
            let caster = Caster::new(&device);
            let before = pipelines();
            caster.warm_up_many(&[spec], coverage).unwrap();
            assert!(pipelines() > before);
            let memory = [0, 1].map(|_| buffer(&device, 1 << 20));
            let (source, destination) = if one_buffer { (0, 1 << 19) } else { (0, 0) };
            for lens in [&[1, 2, 3][..], &[1003, 4001, 64], &[9001, 1]] {
                // The slices start at multiples of 64 KiB, and so of the device's alignment.
                let casts = (0u64..).zip(lens).map(|(i, &len)| {
                    let [source, destination] = [source + (i << 16), destination + (i << 17)];
                    let written = if one_buffer { &memory[0] } else { &memory[1] };
                    let source = Source::part(memory[0].slice(source..), first);
                    (source, Destination::part(written.slice(destination..), first), len)
                });
                let warm = pipelines();
                caster.bind_many(&spec, casts).unwrap();
                assert_eq!(pipelines(), warm, "{spec:?}, {coverage:?}, {lens:?}");
            }
        }
    }
}

#[test]
fn many_casts_give_the_bits_of_the_cpu() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    let mut numbers = Random::new(7);
    for (i, (from, to)) in pairs_of_widths().into_iter().enumerate() {
        let mut tuning = *caster.tuning();
        tuning.lookup = if i % 2 == 0 { CodeLookup::Table } else { CodeLookup::Computed };
        let caster = Caster::with_descriptor(
            &device,
            &CasterDescriptor { limits: Some(*caster.limits()), tuning: Some(tuning), ..Default::default() },
        );
        let (cases, sizes) = random(&mut numbers, from, to, 20, i % 3 == 0);
        check((&device, &queue, &caster), (from, to), &cases, &sizes);
    }
}

#[test]
fn casts_of_small_tensors_share_dispatches() {
    use ElementType::*;
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    // Tensors at whole words: one dispatch of whole units and one for the ends.
    let case = |i: u64| Case { source: (0, 3200 * i, 0), destination: (1, 1600 * i, 0), len: 799 };
    let cases: Vec<_> = (0..100).map(case).collect();
    let sizes = [100 * 3200, 100 * 1600];
    assert_eq!(check((&device, &queue, &caster), (FLOAT, FLOAT16), &cases, &sizes), 2);
    // Neighbours in one byte are written by dispatches of their own.
    let case = |i: u64| Case { source: (0, 64 * i, 0), destination: (1, 0, i), len: 1 };
    let cases: Vec<_> = (0..8).map(case).collect();
    assert_eq!(check((&device, &queue, &caster), (FLOAT, INT4), &cases, &[512, 16]), 8);
    // Bindings of 4 KiB hold a part of the tensors.
    let mut limits = *caster.limits();
    limits.binding_size = 4096;
    let small = Caster::with_descriptor(&device, &CasterDescriptor { limits: Some(limits), ..Default::default() });
    let case = |i: u64| Case { source: (0, 512 * i, 0), destination: (1, 256 * i, 0), len: 128 };
    let cases: Vec<_> = (0..64).map(case).collect();
    assert_eq!(check((&device, &queue, &small), (FLOAT, FLOAT16), &cases, &[64 * 512, 64 * 256]), 8);
}

#[test]
fn casts_in_place_are_among_many() {
    use ElementType::*;
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    // A narrowing over its own source, between casts of small tensors.
    let case = |i: u64| Case { source: (0, 512 * i, 0), destination: (0, 512 * i + 256, 0), len: 50 };
    let mut cases: Vec<_> = (0..20).map(case).collect();
    cases.insert(10, Case { source: (0, 16384, 0), destination: (0, 16384, 0), len: 3000 });
    check((&device, &queue, &caster), (FLOAT, FLOAT16), &cases, &[32768]);
    check((&device, &queue, &caster), (FLOAT, INT4), &cases, &[32768]);
    // Elements before whole units and after them take another kernel than the elements between, so that the order
    // matters.
    let case = Case { source: (0, 2048, 0), destination: (0, 4, 0), len: 3001 };
    check((&device, &queue, &caster), (FLOAT, FLOAT16), &[case], &[16384]);
}

#[test]
fn an_invalid_cast_among_many_is_refused() {
    let (device, _queue) = own_device();
    let caster = Caster::new(&device);
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let [source, destination] = [buffer(&device, 64), buffer(&device, 64)];
    let cast = |len| (Source::part(source.slice(..), 0), Destination::part(destination.slice(..), 0), len);
    let error = caster.bind_many(&spec, [cast(8), cast(17)]).unwrap_err();
    let text = "entry 1: casting float to float16: the source slice needs 68 bytes to hold the cast's elements, got 64";
    assert_eq!(error.to_string(), text);
    let (from, to) = (spec.from, ElementType::STRING);
    let error = caster.bind_many(&CastSpec::new(from, to), [cast(8)]).unwrap_err();
    assert_eq!(format!("{error:?}"), cast_error([from, to], "NoKernel"));
    assert_eq!(caster.bind_many(&spec, [cast(0)]).unwrap().dispatches().len(), 0);
    assert_eq!(caster.bind_many(&spec, []).unwrap().dispatches().len(), 0);
}

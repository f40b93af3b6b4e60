//! Casts in place between types of different widths: the narrower tensor lies inside the wider one, at its start, at
//! its end or anywhere between.

use support::buffers::{buffer, read};
use support::{adapter, cases, numeric};
use wgpu_cast::{
    Bound, CastOptions, CastSpec, Caster, CasterDescriptor, Context, Destination, ElementType, PlanTuning, Source,
    Tensor, cpu,
};

const GUARD: u64 = 64;

fn noise(len: u64) -> Vec<u8> {
    cases::random(ElementType::UINT8, len as usize, 7).into_iter().map(|code| code as u8).collect()
}

/// Where the narrower tensor lies in the wider one.
#[derive(Clone, Copy, Debug)]
enum At {
    Start,
    Inside,
    End,
}

/// Casts `len` elements in place; checks every byte of the buffer.
fn check(context: &Context, caster: &Caster, (from, to): (ElementType, ElementType), len: u64, at: At) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let bytes = [from, to].map(|t| t.packed_bytes(len).unwrap());
    let longest = bytes[0].max(bytes[1]);
    let size = |t: ElementType| u64::from(t.bits().unwrap() / 8).max(1);
    // At the end, the last bytes of both tensors are the same. Inside, the narrower tensor lies at whole elements of
    // both sides.
    let starts = [0, 1].map(|side| {
        let spare = longest - bytes[side];
        GUARD
            + match at {
                At::Start => 0,
                At::Inside => spare / 3 / 8 * 8,
                At::End => spare,
            }
    });
    if starts[0] % size(from) != 0 || starts[1] % size(to) != 0 {
        return;
    }
    let mut expected = noise(GUARD + longest + GUARD);
    expected.resize(expected.len().next_multiple_of(4), 0);
    let memory = buffer(device, expected.len() as u64);
    queue.write_buffer(&memory, 0, &expected);
    let source = expected[starts[0] as usize..][..bytes[0] as usize].to_vec();
    let tensor = Tensor::from_bytes(from, [len as usize], source).unwrap();
    let result = cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap();
    expected[starts[1] as usize..][..result.len()].copy_from_slice(&result);
    let prepared = caster.prepare(&CastSpec::new(from, to), len).unwrap();
    let slice = |side: usize| memory.slice(starts[side]..starts[side] + bytes[side]);
    let bound = prepared.bind(Source::whole(slice(0)), Destination::whole(slice(1))).unwrap();
    let mut encoder = device.create_command_encoder(&Default::default());
    // Each pipeline is set once if that keeps the order of the dispatches.
    Bound::record_all([&bound], &mut encoder);
    let got = read(device, queue, encoder, &memory);
    let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
    assert_eq!(wrong, None, "{from} to {to}, {len} elements at {starts:?}, {} dispatches", bound.dispatches().len());
}

#[test]
fn narrowing_and_widening_in_place() {
    let context = adapter::open();
    let caster = |blocks_from| {
        let mut tuning = PlanTuning::default();
        tuning.blocks_from = Some(blocks_from);
        Caster::with_descriptor(
            context.device().unwrap(),
            &CasterDescriptor { tuning: Some(tuning), ..Default::default() },
        )
    };
    let (edges, units) = (caster(u64::MAX), caster(0));
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
    for (i, pair) in pairs.filter(|(from, to)| from.bits() != to.bits()).enumerate() {
        for at in [At::Start, At::Inside, At::End] {
            // The last bytes of 6-bit codes are filled in different ways.
            for len in [3, 1002, 1003, 1024] {
                check(&context, &edges, pair, len, at);
            }
            // Compiling kernels for whole units is nearly all of the work.
            if i % 19 == 0 {
                check(&context, &units, pair, 70_000, at);
            }
        }
    }
}

#[test]
fn the_number_of_dispatches_grows_with_the_logarithm() {
    let context = adapter::open();
    let caster = Caster::new(context.device().unwrap());
    let memory = buffer(context.device().unwrap(), 4 << 20);
    let dispatches = |len: u64| {
        let prepared = caster.prepare(&CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16), len).unwrap();
        let (source, destination) = (memory.slice(..4 * len), memory.slice(..2 * len));
        prepared.bind(Source::whole(source), Destination::whole(destination)).unwrap().dispatches().len()
    };
    assert_eq!([256, 512, 1 << 10, 1 << 15, 1 << 20].map(dispatches), [1, 2, 3, 8, 13]);
}

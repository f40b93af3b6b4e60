//! Source bytes that no writer should have written: bools other than 0 and 1, and set bits after the last code.

use support::adapter;
use support::buffers::{buffer, read};
use wgpu_cast::{CastSpec, Caster, CasterDescriptor, Context, Destination, ElementType, PlanTuning, Source};

/// The destination's bytes, and the bytes after them in its buffer. The source is `bytes` in a larger buffer.
fn cast(context: &Context, (from, to): (ElementType, ElementType), len: u64, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let mut tuning = PlanTuning::default();
    // The main kernel casts whole units, and the edge kernel the rest.
    tuning.blocks_from = Some(0);
    let prepared = Caster::with_descriptor(device, &CasterDescriptor { tuning: Some(tuning), ..Default::default() })
        .prepare(&CastSpec::new(from, to), len)
        .unwrap();
    let written = prepared.destination_bytes();
    let (source, destination) = (buffer(device, bytes.len() as u64 + 256), buffer(device, written + 256));
    let mut memory = bytes.to_vec();
    memory.resize(source.size() as usize, 0xff);
    queue.write_buffer(&source, 0, &memory);
    queue.write_buffer(&destination, 0, &vec![0xa5; destination.size() as usize]);
    let mut encoder = device.create_command_encoder(&Default::default());
    let slices = (source.slice(..prepared.source_bytes()), destination.slice(..written));
    prepared.record(&mut encoder, Source::whole(slices.0), Destination::whole(slices.1)).unwrap();
    let mut got = read(device, queue, encoder, &destination);
    let behind = got.split_off(written as usize);
    (got, behind)
}

#[test]
fn any_byte_but_zero_is_true_and_becomes_one() {
    let context = adapter::open();
    let all: Vec<u8> = (0..=255).collect();
    let expected: Vec<u8> = all.iter().map(|&byte| u8::from(byte != 0)).collect();
    for pair in [
        (ElementType::BOOL, ElementType::UINT8),
        (ElementType::BOOL, ElementType::BOOL),
        (ElementType::UINT8, ElementType::BOOL),
    ] {
        let (got, behind) = cast(&context, pair, 256, &all);
        assert!(got == expected && behind.iter().all(|&byte| byte == 0xa5), "{pair:?}: {got:?}");
    }
}

#[test]
fn bits_after_the_last_code_are_ignored_and_written_as_zero() {
    let context = adapter::open();
    // The codes 1, 2 and 3, and set bits after them.
    let (half, quarter) = ([0x21, 0xf3], [0xf9]);
    use ElementType::*;
    for (pair, bytes, expected) in [
        ((INT4, INT8), &half[..], &[1, 2, 3][..]),
        ((UINT4, INT4), &half, &[0x21, 0x03]),
        ((FLOAT4E2M1, FLOAT4E2M1), &half, &[0x21, 0x03]),
        ((FLOAT4E2M1, FLOAT8E4M3FN), &half, &[0x30, 0x38, 0x3c]),
        ((UINT2, UINT8), &quarter, &[1, 2, 3]),
        ((UINT2, UINT4), &quarter, &[0x21, 0x03]),
    ] {
        let (got, behind) = cast(&context, pair, 3, bytes);
        assert_eq!(got, expected, "{pair:?}");
        assert!(behind.iter().all(|&byte| byte == 0xa5), "{pair:?}");
    }
}

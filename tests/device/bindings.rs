//! Buffers and slices that cannot be bound, in every way of binding.

use support::buffers::buffer;
use support::{adapter, slice_error, variant};
use wgpu_cast::wgpu::{self, Buffer, Features};
use wgpu_cast::{Bound, CastSpec, Caster, Destination, ElementType, Error, Side, Source, View};

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::INT4;

/// The elements of every cast here, and their bytes on either side.
const LEN: u64 = 15;
const BYTES: [u64; 2] = [60, 8];

/// A device with its queue, without which wgpu makes no encoder.
type Opened = (wgpu::Device, wgpu::Queue);

/// Two devices of one instance, and two more with parameters as immediates if the adapter has immediates.
fn devices() -> Vec<[Opened; 2]> {
    let adapter = adapter::own();
    let device = |required_features, max_immediate_size| {
        let required_limits = wgpu::Limits { max_immediate_size, ..wgpu::Limits::downlevel_defaults() };
        let descriptor = wgpu::DeviceDescriptor { required_features, required_limits, ..Default::default() };
        pollster::block_on(adapter.request_device(&descriptor)).unwrap()
    };
    let mut devices = vec![[(); 2].map(|()| device(Features::empty(), 0))];
    if adapter.features().contains(Features::IMMEDIATES) {
        devices.push([(); 2].map(|()| device(Features::IMMEDIATES, adapter.limits().max_immediate_size)));
    }
    devices
}

/// An error of a single cast: as `{:?}`, and its text.
type Texts = [String; 2];

fn texts(error: &Error) -> Texts {
    [format!("{error:?}"), error.to_string()]
}

/// The result of every way of binding these sides.
fn ways(device: &wgpu::Device, from: Source<'_>, to: Destination<'_>) -> Vec<(&'static str, Result<(), Texts>)> {
    let caster = Caster::new(device);
    let spec = CastSpec::new(FROM, TO);
    let prepared = caster.prepare(&spec, LEN).unwrap();
    let view = View::new(&[3, 5]).with_source_strides(&[1, 3]);
    let prepared_view = caster.prepare_view(&spec, &view).unwrap();
    let count = buffer(device, 4);
    let mut encoder = device.create_command_encoder(&Default::default());
    // The error of the only entry of a list.
    let of_entry = |bound: Result<Bound, Error>| match bound {
        Err(error @ Error::Cast { entry: Some(0), .. }) => {
            let [debug, text] = texts(&error);
            Err([debug.replace("entry: Some(0)", "entry: None"), text.strip_prefix("entry 0: ").unwrap().to_owned()])
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => Ok(()),
    };
    let list = || caster.many(&spec).unwrap();
    vec![
        ("bind", prepared.bind(from, to).map(drop).map_err(|error| texts(&error))),
        ("record", prepared.record(&mut encoder, from, to).map_err(|error| texts(&error))),
        ("a view", prepared_view.bind(from, to).map(drop).map_err(|error| texts(&error))),
        ("bind_counted", prepared.bind_counted(from, to, count.slice(..)).map(drop).map_err(|error| texts(&error))),
        ("bind_many", of_entry(caster.bind_many(&spec, [(from, to, LEN)]))),
        ("a view in a list", of_entry(list().add_view(from, to, &view).bind())),
        ("a count in a list", of_entry(list().add_counted(from, to, LEN, count.slice(..)).bind())),
    ]
}

/// Asserts that every way of binding returns this variant with this text.
fn assert_all(found: Vec<(&'static str, Result<(), Texts>)>, variant: &str, text: &str) {
    for (way, result) in found {
        assert_eq!(result.expect_err(way), [variant, text], "{way}");
    }
}

#[test]
fn foreign_and_destroyed_buffers_are_told_apart() {
    for [(own, _queue), (other, _)] in devices() {
        let [good, foreign, gone] = [&own, &other, &own].map(|device| buffer(device, 128));
        gone.destroy();
        let bind = |source: &Buffer, destination: &Buffer| {
            let to = Destination::whole(destination.slice(64..64 + BYTES[1]));
            ways(&own, Source::whole(source.slice(..BYTES[0])), to)
        };
        let belongs =
            |side| format!("casting float to int4: the {side} buffer belongs to another device than the caster");
        let destroyed = |side| format!("casting float to int4: the {side} buffer was destroyed");
        let [source, destination] = [Side::Source, Side::Destination];
        let slice = |side, fault| slice_error([FROM, TO], Some(side), if side == source { 0 } else { 64 }, fault);
        let is_foreign = |side| slice(side, "ForeignBuffer");
        let is_gone = |side| slice(side, "DestroyedBuffer");
        assert_all(bind(&foreign, &good), &is_foreign(source), &belongs(source));
        assert_all(bind(&good, &foreign), &is_foreign(destination), &belongs(destination));
        assert_all(bind(&foreign, &foreign), &is_foreign(source), &belongs(source));
        assert_all(bind(&gone, &good), &is_gone(source), &destroyed(source));
        assert_all(bind(&good, &gone), &is_gone(destination), &destroyed(destination));
        assert_all(bind(&gone, &gone), &is_gone(source), &destroyed(source));
        // If both are at fault, the error names the source.
        assert_all(bind(&gone, &foreign), &is_gone(source), &destroyed(source));
        assert_all(bind(&foreign, &gone), &is_foreign(source), &belongs(source));
        // The device still works.
        assert!(bind(&good, &good).iter().all(|(_, result)| result.is_ok()));
    }
}

#[test]
fn counts_in_foreign_and_destroyed_buffers_are_told_apart() {
    let (from, to) = (FROM, TO);
    for [(own, _queue), (other, _)] in devices() {
        let [good, foreign, gone] = [&own, &other, &own].map(|device| buffer(device, 128));
        gone.destroy();
        let prepared = Caster::new(&own).prepare(&CastSpec::new(from, to), LEN).unwrap();
        for (count, fault, reason) in [
            (&foreign, "ForeignBuffer", "its buffer belongs to another device than the caster"),
            (&gone, "DestroyedBuffer", "its buffer was destroyed"),
        ] {
            let slices = (Source::whole(good.slice(..BYTES[0])), Destination::whole(good.slice(64..64 + BYTES[1])));
            let error = prepared.bind_counted(slices.0, slices.1, count.slice(8..12)).map(drop).unwrap_err();
            assert_eq!(format!("{error:?}"), slice_error([from, to], None, 8, fault));
            let text = format!("casting float to int4: invalid slice of the count at byte 8: {reason}");
            assert_eq!(error.to_string(), text);
            let mut list = Caster::new(&own).many(&CastSpec::new(from, to)).unwrap();
            list.add(slices.0, Destination::whole(good.slice(80..88)), LEN);
            let error = list.add_counted(slices.0, slices.1, LEN, count.slice(8..12)).bind().map(drop).unwrap_err();
            assert_eq!(error.to_string(), format!("entry 1: {text}"));
        }
    }
}

/// For casts that share a dispatch, the error names the first cast between the buffers.
#[test]
fn entries_with_buffers_that_cannot_be_bound_are_named() {
    let [(own, _queue), (other, _)] = devices().remove(0);
    let [good, results, foreign, gone] = [&own, &own, &other, &own].map(|device| buffer(device, 1024));
    gone.destroy();
    let caster = Caster::new(&own);
    for (bad, end) in [(&foreign, "belongs to another device than the caster"), (&gone, "was destroyed")] {
        let destinations = [&results, &results, bad, &results, bad];
        let casts = (0..).zip(destinations).map(|(i, destination)| {
            let source = Source::whole(good.slice(64 * i..64 * i + BYTES[0]));
            (source, Destination::part(destination.slice(8 * i..), 0), LEN)
        });
        let error = caster.bind_many(&CastSpec::new(FROM, TO), casts).map(drop).unwrap_err();
        assert_eq!(error.to_string(), format!("entry 2: casting float to int4: the destination buffer {end}"));
    }
}

#[test]
fn slices_that_are_too_long_or_too_short() {
    let [(own, _queue), _] = devices().remove(0);
    let [memory, result] = [(); 2].map(|()| buffer(&own, 512));
    let needs = |side: Side, expected: u64, found: u64, end: &str| {
        let text = format!(
            "casting float to int4: the {side} slice needs {expected} bytes to hold the cast's elements, got {found}{end}"
        );
        (slice_error([FROM, TO], Some(side), 0, variant!(Length { expected, found })), text)
    };
    let check = |source, destination, (variant, text): (String, String)| {
        assert_all(ways(&own, source, destination), &variant, &text);
    };
    let (whole, good) = (Source::whole(memory.slice(..60)), Destination::whole(result.slice(..8)));
    let end = "; a longer slice is given as Source::part(slice, 0)";
    check(Source::whole(memory.slice(..)), good, needs(Side::Source, 60, 512, end));
    let end = "; a longer slice is given as Destination::part(slice, 0), which keeps the unused bits of the last byte \
               instead of zeroing them";
    check(whole, Destination::whole(result.slice(..)), needs(Side::Destination, 8, 512, end));
    check(Source::whole(memory.slice(..56)), good, needs(Side::Source, 60, 56, ""));
    check(Source::part(memory.slice(..64), 2), good, needs(Side::Source, 68, 64, ""));
    check(whole, Destination::part(result.slice(..8), 2), needs(Side::Destination, 9, 8, ""));
    // Bindings as the texts ask for are accepted.
    let (source, destination) = (Source::part(memory.slice(..), 0), Destination::part(result.slice(..), 0));
    assert!(ways(&own, source, destination).iter().all(|(_, result)| result.is_ok()));
}

/// The last word of the elements must lie in the buffer, however long the slice is.
#[test]
fn elements_that_end_beyond_the_buffer() {
    let [(own, _queue), _] = devices().remove(0);
    let memory = buffer(&own, 64);
    let usage = wgpu::BufferUsages::STORAGE;
    let short = own.create_buffer(&wgpu::BufferDescriptor { label: None, size: 70, usage, mapped_at_creation: false });
    let out_of_range = variant!(OutOfRange { end: 72, size: 70 });
    let variant = slice_error([FROM, TO], Some(Side::Destination), 60, out_of_range);
    let text = "casting float to int4: the elements in the destination slice at byte 60 end at byte 72 (in whole 32-bit \
                words), but the buffer has 70 bytes";
    for slice in [Destination::part(short.slice(60..), 4), Destination::part(short.slice(60..70), 5)] {
        assert_all(ways(&own, Source::whole(memory.slice(..60)), slice), &variant, text);
    }
}

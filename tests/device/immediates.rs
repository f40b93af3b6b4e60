//! On devices with immediates, casts have their parameters there, and give the same bits.

use support::buffers::{buffer, read};
use support::{adapter, cases, pairs_of_widths};
use wgpu_cast::wgpu::{self, Features};
use wgpu_cast::{CastOptions, CastSpec, Caster, Coverage, Destination, ElementType, Source, Tensor, cpu};

/// A device with immediates, if the adapter has them.
fn device() -> Option<(wgpu::Device, wgpu::Queue)> {
    let adapter = adapter::own();
    if !adapter.features().contains(Features::IMMEDIATES) {
        support::not_tested("this adapter has no immediates");
        return None;
    }
    let required_limits =
        wgpu::Limits { max_immediate_size: adapter.limits().max_immediate_size, ..wgpu::Limits::downlevel_defaults() };
    let required_features = Features::IMMEDIATES;
    let descriptor = wgpu::DeviceDescriptor { required_features, required_limits, ..Default::default() };
    Some(pollster::block_on(adapter.request_device(&descriptor)).unwrap())
}

/// Types of all widths, each pair at one of several lengths, by the kernels that its length takes.
#[test]
fn parameters_are_immediates_where_the_device_has_them() {
    let Some((device, queue)) = device() else { return };
    let caster = Caster::new(&device);
    for (i, (from, to)) in pairs_of_widths().into_iter().enumerate() {
        let len = [1, 77, 1003, 300][i % 4];
        let tensor = Tensor::from_codes(from, [len], cases::random(from, len, 3)).unwrap();
        let prepared = caster.prepare(&CastSpec::new(from, to), len as u64).unwrap();
        let source = buffer(&device, prepared.source_bytes());
        let mut words = tensor.bytes().unwrap().to_vec();
        words.resize(source.size() as usize, 0);
        queue.write_buffer(&source, 0, &words);
        let destination = buffer(&device, prepared.destination_bytes());
        let slices = (source.slice(..prepared.source_bytes()), destination.slice(..prepared.destination_bytes()));
        let bound = prepared.bind(Source::whole(slices.0), Destination::whole(slices.1)).unwrap();
        assert!(bound.dispatches().all(|dispatch| dispatch.immediates.len() == 40));
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.record(&mut encoder);
        let got = read(&device, &queue, encoder, &destination);
        let expected = cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap();
        assert_eq!(got[..expected.len()], expected, "{from} to {to}");
    }
}

/// Every kernel of some pairs, those of views included. The parameters of views are in a buffer.
#[test]
fn self_test_passes_with_immediates() {
    let Some((device, queue)) = device() else { return };
    use ElementType::*;
    let pairs = [(FLOAT, FLOAT8E4M3FN), (INT4, FLOAT6E2M3), (FLOAT6E2M3, FLOAT6E3M2)];
    let specs = pairs.map(|(from, to)| CastSpec::new(from, to));
    let caster = Caster::new(&device);
    pollster::block_on(caster.self_test(&queue, &specs, Coverage::Views)).unwrap().into_result().unwrap();
}

//! Faults that only the crate's own buffers can have, and answers that come too late.

use super::*;
use crate::host::adapter::{choose, open};
use crate::host::pipelined;
use crate::types::element::ElementType;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;
use crate::{DeviceChoice, cpu};

fn conversion() -> Conversion {
    Conversion::new(ElementType::FLOAT, ElementType::INT8, &CastOptions::default()).unwrap()
}

/// wgpu panics on reading or unmapping at the wrong time, and reports other faults as validation errors. No handler is
/// set here, so an error that no scope catches would panic too.
#[test]
fn errors_of_mapping_are_typed_and_the_device_lives_on() {
    let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
    let link = DeviceLink::borrowed(&device, &queue, &Caster::new(&device));
    let conversion = conversion();
    let is_device_error = |result: Result<(), Error>| {
        assert!(matches!(&result, Err(Error::Cast { cause: CastFault::Device { .. }, .. })), "{result:?}");
    };
    let scoped = |work: &dyn Fn()| scoped_for(&conversion, 0, &device, work);
    let arrive = |mapping| pollster::block_on(link.arrive(&conversion, mapping));
    let staging = link.staging(&conversion, 8).unwrap();
    let request = || map(&staging, wgpu::MapMode::Read, 8);
    // Two requests for one buffer: the second one fails.
    let [first, second] = [(); 2].map(|()| scoped_for(&conversion, 8, &device, request).unwrap());
    link.run_callbacks();
    is_device_error(arrive(second));
    arrive(first).unwrap();
    // A submission that writes a mapped buffer.
    let filled = link
        .filled(&conversion, "source", &[1; 8], wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST)
        .unwrap();
    let copy = || {
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&filled, 0, &staging, 0, 8);
        queue.submit([encoder.finish()]);
    };
    is_device_error(scoped(&copy));
    scoped(&|| staging.unmap()).unwrap();
    is_device_error(scoped(&|| staging.unmap()));
    // A buffer that the host cannot map, and a length that is not in whole words.
    is_device_error(scoped(&|| drop(map(&filled, wgpu::MapMode::Read, 8))));
    is_device_error(scoped(&|| drop(map(&staging, wgpu::MapMode::Read, 5))));
    // Bytes of a buffer that is not mapped.
    assert!(staging.slice(..).get_mapped_range().is_err());
    let encoder = link.encoder(&conversion).unwrap();
    assert_eq!(pollster::block_on(link.contents(&conversion, encoder, &filled)).map(|bytes| bytes.len()), Ok(8));
}

/// Work that takes a processor some tenths of a second. llvmpipe ends a loop after 65,535 rounds.
const LONG: &str = "
    @group(0) @binding(0) var<storage, read_write> word: u32;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        var x = id.x;
        for (var i = 0u; i < 60000u; i++) { x = (x ^ (x >> 7u)) * 1664525u + i; }
        if x == 0u { word = x; }
    }";

fn submit_long_work(link: &DeviceLink) {
    let source = wgpu::ShaderSource::Wgsl(LONG.into());
    let module = link.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let pipeline = link.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let word = link.buffer(&conversion(), "word", 4, wgpu::BufferUsages::STORAGE).unwrap();
    let group = link.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: word.as_entire_binding() }],
    });
    let mut encoder = link.device.create_command_encoder(&Default::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(256, 1, 1);
    drop(pass);
    link.queue.submit([encoder.finish()]);
}

#[test]
fn an_answer_that_comes_too_late_is_an_error_and_the_device_lives_on() {
    let Ok(Ok(adapters)) = pollster::block_on(choose(&DeviceChoice::Gpu)) else {
        support::not_tested("there is no adapter");
        return;
    };
    let adapter = &adapters[0];
    if adapter.get_info().backend == wgpu::Backend::Gl {
        support::not_tested("OpenGL does the work before the submission returns");
        return;
    }
    let (device, queue) = pollster::block_on(open(adapter)).unwrap();
    let mut link = DeviceLink::new(device, queue);
    let conversion = conversion();
    let values: Vec<u8> = (0..3000u16).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    let cast = |link: &DeviceLink| {
        let mut result = vec![0; 3000];
        pollster::block_on(pipelined::cast(link, &conversion, &values, 3000, &mut result)).map(|_| result)
    };
    let mut expected = vec![0; 3000];
    cpu::cast_bytes(&CastSpec::new(ElementType::FLOAT, ElementType::INT8), &values, 3000, &mut expected).unwrap();
    assert!(cast(&link).unwrap() == expected);
    link.timeout = Duration::ZERO;
    // If this thread has to wait for a processor, the device may be done before this thread asks.
    let late = (0..20).find_map(|_| {
        submit_long_work(&link);
        cast(&link).err()
    });
    let (from, to) = (conversion.from, conversion.to);
    assert_eq!(late, Some(Error::cast(from, to, CastFault::Timeout { seconds: 0 })));
    link.timeout = TIMEOUT;
    assert!(cast(&link).unwrap() == expected);
    assert_eq!(link.lost(), None);
}

//! What a device allows, and what suits it.

use crate::plan::{CodeLookup, PlanLimits, PlanSettings, PlanTuning};

/// What a device allows, and what suits it.
pub(crate) fn plan_settings(device: &wgpu::Device) -> PlanSettings {
    let limits = device.limits();
    let limits = PlanLimits {
        binding_size: limits.max_storage_buffer_binding_size,
        buffer_size: limits.max_buffer_size,
        offset_alignment: limits.min_storage_buffer_offset_alignment.into(),
        workgroups: limits.max_compute_workgroups_per_dimension,
    }
    // For one, llvmpipe's largest buffer is not a whole number of words.
    .usable();
    let tuning = if is_software(&device.adapter_info()) {
        // llvmpipe takes some 20 ms to compile a kernel, which saves a cast of 8,192 elements some 0.03 ms.
        PlanTuning { blocks_from: Some(8192), lookup: CodeLookup::Computed, ..PlanTuning::default() }
    } else {
        PlanTuning::default()
    };
    PlanSettings { limits, tuning }
}

/// Browsers tell only whether an adapter is a fallback adapter, which is software: wgpu gives those `Cpu`, and all others
/// `Other`, which therefore counts as real.
pub(crate) fn is_software(info: &wgpu::AdapterInfo) -> bool {
    info.device_type == wgpu::DeviceType::Cpu
}

/// Whether the adapter's memory is the host's, so that it costs nothing to map what kernels use.
pub(crate) fn shares_memory(info: &wgpu::AdapterInfo) -> bool {
    matches!(info.device_type, wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::Cpu)
}

/// Whether a device can map the buffers that kernels use, and kernels use such buffers as fast as others.
pub(crate) fn maps_primary_buffers(device: &wgpu::Device) -> bool {
    device.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) && shares_memory(&device.adapter_info())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_get_what_suits_them() {
        use wgpu::DeviceType::{Cpu, DiscreteGpu, IntegratedGpu, Other, VirtualGpu};
        for (kind, software, shares) in [
            (Cpu, true, true),
            (IntegratedGpu, false, true),
            (DiscreteGpu, false, false),
            (VirtualGpu, false, false),
            (Other, false, false),
        ] {
            let info = wgpu::AdapterInfo::new(kind, wgpu::Backend::Vulkan);
            assert_eq!((is_software(&info), shares_memory(&info)), (software, shares), "{kind:?}");
        }
        // wgpu's backend that does nothing says that it is a processor.
        let (device, _queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let tuning = plan_settings(&device).tuning;
        assert_eq!((tuning.blocks_from, tuning.lookup), (Some(8192), CodeLookup::Computed));
    }
}

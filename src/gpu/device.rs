//! The limits of a device, and the tuning that suits it.

use crate::plan::{CodeLookup, PlanLimits, PlanSettings, PlanTuning};

/// The limits of a device, and the tuning that suits it.
pub(crate) fn plan_settings(device: &wgpu::Device) -> PlanSettings {
    let limits = device.limits();
    let limits = PlanLimits {
        binding_size: limits.max_storage_buffer_binding_size,
        buffer_size: limits.max_buffer_size,
        offset_alignment: limits.min_storage_buffer_offset_alignment.into(),
        workgroups: limits.max_compute_workgroups_per_dimension,
    }
    // The size of llvmpipe's largest buffer, for example, is not a multiple of 4.
    .usable();
    let tuning = if is_software(&device.adapter_info()) {
        // llvmpipe takes some 20 ms to compile a kernel. The kernel for whole units saves a cast of 8,192 elements some
        // 0.03 ms.
        PlanTuning { blocks_from: Some(8192), lookup: CodeLookup::Computed, ..PlanTuning::default() }
    } else {
        PlanTuning::default()
    };
    PlanSettings { limits, tuning }
}

/// Whether an adapter is software. A browser tells only whether an adapter is a fallback adapter, which is software:
/// wgpu reports such an adapter as `Cpu` and all others as `Other`. So `Other` counts as hardware.
pub(crate) fn is_software(info: &wgpu::AdapterInfo) -> bool {
    info.device_type == wgpu::DeviceType::Cpu
}

/// Whether the adapter's memory is the host's, so that mapping the buffers that kernels use costs nothing.
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
        // wgpu's backend that does nothing reports itself as a processor.
        let (device, _queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let tuning = plan_settings(&device).tuning;
        assert_eq!((tuning.blocks_from, tuning.lookup), (Some(8192), CodeLookup::Computed));
    }
}

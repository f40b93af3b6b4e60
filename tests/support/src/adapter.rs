//! The adapter of the tests that need one. Without an adapter, they fail.

use wgpu_cast::{Context, DeviceChoice, wgpu};

/// The best adapter, which may be a software adapter.
pub fn open() -> Context {
    match pollster::block_on(Context::open(DeviceChoice::Gpu)) {
        Ok(context) => context,
        Err(error) => panic!(
            "{error}. The GPU tests need an adapter, a software one will do: run tests/adapter.sh, which says what to \
             install (Debian: apt-get install mesa-vulkan-drivers libvulkan1)"
        ),
    }
}

/// The adapter of an application that makes its own instance. `WGPU_BACKEND` restricts the backends, as it does in
/// [`open`].
pub fn own() -> wgpu::Adapter {
    open();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    pollster::block_on(instance.request_adapter(&Default::default())).unwrap()
}

//! wgpu 29.

use wgpu_29 as wgpu;

#[path = "engine.rs"]
pub mod engine;

/// An instance with the backends that wgpu's environment variables choose.
fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env())
}

//! wgpu 27.

use wgpu_27 as wgpu;

#[path = "engine.rs"]
pub mod engine;

/// An instance with the backends that wgpu's environment variables choose.
fn instance() -> wgpu::Instance {
    wgpu::Instance::new(&wgpu::InstanceDescriptor::from_env_or_default())
}

//! Objects of wgpu: pipelines, parameters, bind groups, error scopes. Nothing here knows a caster.

mod arena;
mod binding_fault;
#[cfg(not(target_family = "wasm"))]
mod compile_queue;
pub(crate) mod device;
pub(crate) mod error_scope;
pub(crate) mod kernels;
pub(crate) mod parameters;
pub(crate) mod record;

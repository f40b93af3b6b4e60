//! The WGSL of casts as text: whole kernels exactly as devices get them, and functions for kernels of your own.
//!
//! [`functions`] and [`Functions`] write functions for a kernel of yours to call, for instance to load FLOAT8 weights
//! inside a matrix product. [`kernel`] writes a whole kernel, for engines that dispatch kernels themselves, and for
//! reading.
//!
//! ```
//! use wgpu_cast::wgsl::{self, KernelVariant};
//! use wgpu_cast::{CastSpec, ElementType};
//!
//! let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
//! let kernel = wgsl::kernel(&spec, KernelVariant::Computed)?;
//! assert!(kernel.wgsl().contains("fn main("));
//! # Ok::<(), wgpu_cast::Error>(())
//! ```

mod array;
mod arrays;
mod fragments;
mod functions;
mod names;
mod tables;
mod types;
mod values;
mod vectors;

pub use crate::kernel::Kernel;
use crate::kernel::{self, Access, CodeLookup, KernelKind, ParameterSpace};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::spec::CastSpec;
pub use array::Array;
pub use functions::{Function, Functions};
pub use tables::Table;
pub use types::{Type, ValueType};

/// The kernels of a pair for two buffers whose slices are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KernelVariant {
    /// The main kernel, which converts all of a tensor except its ends. Sources of at most 8 bits are looked up in a
    /// table in workgroup memory, which suits GPUs.
    Table,
    /// The main kernel for software adapters. Their workgroup memory is slow, so this kernel uses a table only if that
    /// saves the encoding of several codes.
    Computed,
    /// The edge kernel, which converts the ends of tensors and small tensors, and any other range of elements.
    Edge,
}

impl KernelVariant {
    /// Every variant.
    pub const ALL: [KernelVariant; 3] = [KernelVariant::Table, KernelVariant::Computed, KernelVariant::Edge];
}

/// The kernel of a cast.
///
/// # Errors
/// [`CastFault::NoKernel`](crate::CastFault::NoKernel) where [`has_kernel`](crate::has_kernel) is false.
pub fn kernel(spec: &CastSpec, variant: KernelVariant) -> Result<Kernel, Error> {
    let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
    let (kind, lookup) = match variant {
        KernelVariant::Table => (KernelKind::Blocks, CodeLookup::Table),
        KernelVariant::Computed => (KernelKind::Blocks, CodeLookup::Computed),
        KernelVariant::Edge => (KernelKind::Edge, CodeLookup::Table),
    };
    Ok(kernel::compose(&conversion, kind, Access::Separate, ParameterSpace::Uniform, lookup))
}

/// A cast as a function for kernels of your own: [`Functions`] with this one cast. The cast is the last function in
/// their [`list`](Functions::list).
///
/// # Errors
/// [`CastFault::NoKernel`](crate::CastFault::NoKernel) where [`has_kernel`](crate::has_kernel) is false;
/// [`Error::WgslName`] if `prefix` is not the first part of a name in WGSL.
pub fn functions(spec: &CastSpec, prefix: &str) -> Result<Functions, Error> {
    let mut functions = Functions::new(prefix)?;
    functions.cast(spec)?;
    Ok(functions)
}

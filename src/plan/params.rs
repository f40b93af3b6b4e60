//! The parameters of a dispatch, as its kernel reads them from a uniform buffer.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::divisor::Divisor;
use crate::kernel::VIEW_RANK;

/// `Params` of `shaders/entry/params.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct Params {
    pub count: u32,
    pub source_word: u32,
    pub source_bit: u32,
    pub source_last: u32,
    pub destination_word: u32,
    pub destination_bit: u32,
    pub pitch: u32,
    pub sentinel_word: u32,
    pub sentinel: u32,
    pub destination_end: u32,
}

/// The part of `Params` of `shaders/entry/view_params.wgsl` that follows [`Params`], from the next multiple of 16 bytes
/// on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct ViewParams {
    pub source_strides: [u32; VIEW_RANK],
    pub destination_strides: [u32; VIEW_RANK],
    pub first: u32,
    pub axes: u32,
    pub row: u32,
    pub source_step: u32,
    pub tail: u32,
    pub columns: u32,
    pub column_step: u32,
    pub view_padding: u32,
    pub column_rows: Divisor,
    pub column_blocks: Divisor,
    pub invocations: Divisor,
    pub shape: [Divisor; VIEW_RANK],
}

/// The part of `CountedParams` of `shaders/entry/params_counted.wgsl` that follows [`Params`], from the next multiple
/// of 16 bytes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct CountParams {
    pub first: u32,
    pub unit: u32,
    pub rest: u32,
    pub count_word: u32,
}

/// The content of a dispatch's uniform buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UniformBlock {
    pub params: Params,
    pub more: MoreParams,
}

/// The parameters in a uniform buffer after those of every dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "counts are read by devices"))]
pub(crate) enum MoreParams {
    None,
    View(Box<ViewParams>),
    Count(CountParams),
}

impl UniformBlock {
    /// The bytes, a multiple of 16.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let more = match &self.more {
            MoreParams::None => &[],
            MoreParams::View(view) => view.as_bytes(),
            MoreParams::Count(count) => count.as_bytes(),
        };
        let mut bytes = self.params.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes.extend_from_slice(more);
        bytes
    }
}

//! What can be wrong with one cast.

use std::fmt;

use super::overlap::{BufferRange, OverlapText};
use super::slice_fault::{SliceFault, SliceText};
use super::text::{counted, escaped, out_of_memory};
use crate::types::element::{ElementType, Kind};
use crate::types::side::Side;

/// What is wrong with a cast: the cause in an [`Error::Cast`](crate::Error::Cast). The text of that error names both
/// types.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CastFault {
    /// There is no kernel for the cast. This is so for strings (see [`has_kernel`](crate::has_kernel)), and for a view
    /// whose number of elements is read from a buffer.
    NoKernel,
    /// A string cannot be read as the destination type. Either it is no numeric literal of ONNX (nor, for BOOL, `true`
    /// or `false`), or it is a number that no 64-bit integer holds.
    #[non_exhaustive]
    Literal {
        /// Index of the element, in row-major order.
        index: usize,
        /// The string; if it is longer than 40 characters, the first 40 and `…`.
        literal: String,
        /// True if the string is a number that no 64-bit integer holds: infinite, NaN, below −2⁶³, or at least 2⁶⁴.
        is_number: bool,
    },
    /// The length of the caller's memory does not match the result.
    #[non_exhaustive]
    DestinationLength {
        /// Bytes of the result.
        expected: u64,
        /// Bytes that were given.
        found: u64,
    },
    /// Elements of the source type cannot have scales: see [`cpu::cast_scaled`](crate::cpu::cast_scaled).
    NoScales,
    /// The source type cannot have this zero point. Integers of at most 16 bits have zero points in their own range,
    /// other types have none but 0.
    #[non_exhaustive]
    ZeroPoint {
        /// Index of the block, in row-major order.
        index: usize,
        /// The zero point.
        zero_point: i32,
    },
    /// A division by scales has no zero points: see [`cpu::cast_divided_counted`](crate::cpu::cast_divided_counted).
    #[non_exhaustive]
    DivisionZeroPoint {
        /// Index of the block, in row-major order.
        index: usize,
        /// The zero point, which is not 0.
        zero_point: i32,
    },
    /// The cast exceeds a limit. The limit is the device's, one of this crate, or a smaller one that the caller has
    /// set, for example by [`CasterDescriptor`](crate::CasterDescriptor).
    #[non_exhaustive]
    Limit {
        /// WebGPU's name of the limit, or the name of the constant: `Plan::MOST_DISPATCHES`, `View::MOST_AXES`.
        limit: &'static str,
        /// The least value that the cast needs; `u64::MAX` if it does not fit in 64 bits.
        needed: u64,
        /// The most that the cast can use: the value of the limit, or less if a part of it goes to the alignment of
        /// bindings, or if this crate has a smaller limit of its own.
        allowed: u64,
    },
    /// A slice or its buffer is invalid.
    #[non_exhaustive]
    Slice {
        /// The side of the cast; `None` for the slice that holds the number of elements.
        side: Option<Side>,
        /// Start of the slice, in bytes.
        offset: u64,
        /// What is wrong.
        fault: SliceFault,
    },
    /// Two ranges of one buffer overlap, and at least one of them is written.
    /// [`Placement::one_buffer`](crate::Placement::one_buffer) says what is allowed within a cast. The casts of a list
    /// may not depend on each other: see [`Caster::bind_many`](crate::Caster::bind_many).
    #[non_exhaustive]
    Overlap {
        /// The two ranges. They are source and destination; or what one entry of a list writes, and what another one
        /// reads or writes; or the number of elements and a tensor.
        ranges: Box<[BufferRange; 2]>,
        /// Whether the cast is that of a [`View`](crate::View). The source and the destination of a view may not
        /// overlap at all. Those of other casts may overlap if their types have different widths, or if they start at
        /// the same bit.
        is_view: bool,
    },
    /// The strides of a view are invalid.
    #[non_exhaustive]
    Strides {
        /// An axis along which elements of the destination overlap: the axis has more than one element, and its stride
        /// is 0 or does not step over the elements of the axes with smaller strides. `None` if the numbers of strides
        /// and axes differ.
        axis: Option<usize>,
    },
    /// The device rejected the kernel: a driver bug, or a device without compute shaders.
    #[non_exhaustive]
    Kernel {
        /// The message of the device.
        message: String,
    },
    /// The device or the host has no memory left for a buffer or a result.
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes that were requested; 0 if that is not known.
        bytes: u64,
    },
    /// The device was lost. Nothing that was made on it can be used any more. An engine needs a new device, new buffers
    /// and a new [`Caster`](crate::Caster); casts of host tensors need a new [`Context`](crate::Context).
    #[non_exhaustive]
    DeviceLost {
        /// The reason that the driver gave.
        reason: String,
    },
    /// The device did not answer in time. It may still be working.
    #[non_exhaustive]
    Timeout {
        /// The time limit.
        seconds: u64,
    },
    /// The device reported another error.
    #[non_exhaustive]
    Device {
        /// The message of the device.
        message: String,
    },
    /// The device reported success but did not write the last value of the cast, a sentinel. The result is discarded.
    Incomplete,
    /// The self-test found a wrong result, or a write outside the destination.
    #[non_exhaustive]
    SelfTest {
        /// The source code whose result is wrong; `None` for a byte outside the destination.
        code: Option<u64>,
        /// What the device wrote: a code, or a byte.
        got: u64,
        /// The right code or byte.
        expected: u64,
        /// Offset of that code or byte in the destination's buffer, in bytes.
        offset: u64,
    },
}

/// The text of an error of a cast.
pub(super) struct CastText<'a> {
    from: ElementType,
    to: ElementType,
    entry: Option<usize>,
    cause: &'a CastFault,
}

impl<'a> CastText<'a> {
    pub(super) fn new([from, to]: [ElementType; 2], entry: Option<usize>, cause: &'a CastFault) -> Self {
        Self { from, to, entry, cause }
    }
}

impl fmt::Display for CastText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { from, to, entry, cause } = self;
        if let Some(index) = entry {
            write!(f, "entry {index}: ")?;
        }
        write!(f, "casting {from} to {to}")?;
        match cause {
            CastFault::NoKernel if from.is_numeric() && to.is_numeric() => {
                f.write_str(": unsupported strided view: a count needs elements that follow one another")
            }
            CastFault::NoKernel => f.write_str(" is supported only on the CPU: strings have no GPU kernel"),
            CastFault::Literal { index, literal, is_number: false } => {
                let needed = if to == ElementType::BOOL { "boolean or a number" } else { "number" };
                write!(f, ": element {index} is not a {needed}: {}", escaped(literal))
            }
            CastFault::Literal { index, literal, is_number: true } => {
                write!(f, ": element {index} is out of range for 64-bit integers: {}", escaped(literal))
            }
            CastFault::DestinationLength { expected, found } => {
                write!(f, ": the destination must have {}, got {found}", counted(*expected, "byte"))
            }
            CastFault::NoScales => {
                f.write_str(": scales apply to floats of at most 32 bits, to integers of at most 16 bits and to int32")
            }
            CastFault::ZeroPoint { index, zero_point } => {
                let fault = match (from.kind(), from.code_bits()) {
                    (Kind::Int { .. }, ..=16) => "is out of range",
                    _ => "must be 0",
                };
                write!(f, ": the zero point {zero_point} of block {index} {fault} for {from}")
            }
            CastFault::DivisionZeroPoint { index, zero_point } => {
                write!(f, ": the zero point {zero_point} of block {index} must be 0 in a division by scales")
            }
            CastFault::Limit { limit, needed, allowed } => {
                write!(f, " exceeds the limit {limit}: {needed} needed, {allowed} allowed")
            }
            &CastFault::Slice { side, offset, ref fault } => write!(f, ": {}", SliceText { to, side, offset, fault }),
            &CastFault::Overlap { ref ranges, is_view } => write!(f, ": {}", OverlapText { ranges, is_view }),
            CastFault::Strides { axis: Some(axis) } => {
                write!(f, ": the elements of the destination overlap along axis {axis}")
            }
            CastFault::Strides { axis: None } => {
                f.write_str(": unsupported strided view: the numbers of strides and axes differ")
            }
            CastFault::Kernel { message } => write!(f, ": the device rejected the kernel: {message}"),
            CastFault::OutOfMemory { bytes } => write!(f, ": {}", out_of_memory(*bytes)),
            CastFault::DeviceLost { reason } => write!(f, ": the device was lost: {reason}"),
            CastFault::Timeout { seconds } => write!(f, ": the device did not answer within {seconds} s"),
            CastFault::Device { message } => write!(f, ": {message}"),
            CastFault::Incomplete => f.write_str(": the device did not complete the work"),
            CastFault::SelfTest { code: Some(code), got, expected, .. } => {
                write!(f, ": self-test failed: the device converts {code:#x} to {got:#x}, expected {expected:#x}")
            }
            CastFault::SelfTest { code: None, offset, .. } => {
                write!(f, ": self-test failed: the device changed byte {offset}, which is outside the destination")
            }
        }
    }
}

//! Runs the loop of a cast over its codes: from a cache line of one side on, by chunks, on all threads.

use super::any_length::AnyLength;
use super::code_cast::CodeBits;
use super::non_temporal::LINE;
use crate::bits::float_env::with_default_modes;
use crate::bits::packing::clear_pad;
use crate::bits::threads::for_each_chunk;

/// The number of elements that a thread gets at a time. For fewer than two chunks, starting threads costs more time
/// than the threads save.
pub(super) const CHUNK: usize = 1 << 16;

/// From this number of elements on, a cast begins with a few elements, so that the rest of one side is aligned.
pub(super) const LONG: usize = 2048;

/// Converts `elements` codes, on all threads if there are enough elements.
#[inline]
pub(super) fn convert(cast_loop: &AnyLength, bits: CodeBits, elements: usize, source: &[u8], destination: &mut [u8]) {
    let begin = |bytes, source: &[u8], destination: &mut [u8]| {
        with_default_modes(|| cast_loop.convert_beginning(bytes, source, destination));
    };
    let side = if cast_loop.reads_lines() { Side::Source } else { Side::Destination };
    convert_from_line(side, bits, elements, source, destination, begin, |_, source, destination| {
        with_default_modes(|| cast_loop.convert(source, destination));
    });
}

/// As [`convert`], with non-temporal stores. These are slower into new memory, whose pages the system has just written.
pub(super) fn convert_past_caches(
    cast_loop: &AnyLength,
    bits: CodeBits,
    elements: usize,
    source: &[u8],
    destination: &mut [u8],
) {
    let begin = |bytes, source: &[u8], destination: &mut [u8]| {
        with_default_modes(|| cast_loop.convert_beginning(bytes, source, destination));
    };
    convert_from_line(Side::Destination, bits, elements, source, destination, begin, |_, source, destination| {
        with_default_modes(|| {
            let [read, written] = cast_loop.convert_past_caches(source, destination);
            cast_loop.convert(&source[read..], &mut destination[written..]);
        });
    });
}

/// Converts `elements` codes by calls of `work`, each with the index of an element and with the parts of the source and
/// of the destination that start there, on all threads if there are enough elements.
pub(super) fn convert_by(
    bits: CodeBits,
    elements: usize,
    source: &[u8],
    destination: &mut [u8],
    work: impl Fn(usize, &[u8], &mut [u8]) + Sync,
) {
    let begin = |[read, written]: [usize; 2], source: &[u8], destination: &mut [u8]| {
        work(0, &source[..read], &mut destination[..written]);
    };
    convert_from_line(Side::Destination, bits, elements, source, destination, begin, &work);
}

/// As [`convert_by`]. If there are many elements, `work` starts at a cache line of `side`. `begin` gets the numbers of source and
/// destination bytes before that line and the whole tensors, and converts at least these bytes.
fn convert_from_line(
    side: Side,
    bits: CodeBits,
    elements: usize,
    source: &[u8],
    destination: &mut [u8],
    begin: impl FnOnce([usize; 2], &[u8], &mut [u8]),
    work: impl Fn(usize, &[u8], &mut [u8]) + Sync,
) {
    // What follows takes as long as a cast of some elements.
    if elements < LONG {
        if elements > 0 {
            work(0, source, destination);
        }
        return clear_pad(destination, bits.0[1], elements as u64);
    }
    let [read, written] = match side {
        Side::Source => head(side, bits, source),
        Side::Destination => head(side, bits, destination),
    };
    if written > 0 {
        begin([read, written], source, destination);
    }
    let before = written * 8 / bits.0[1] as usize;
    for_each_chunk(&source[read..], &mut destination[written..], bits.bytes(CHUNK), |chunk, source, rest| {
        work(before + chunk * CHUNK, source, rest);
    });
    clear_pad(destination, bits.0[1], elements as u64);
}

/// A side of a cast.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Source,
    Destination,
}

/// The source and destination bytes of the fewest elements after which `memory`, that of one side, is at a multiple of [`LINE`].
/// Writing a vector across two lines takes as long as writing two vectors, and loops with non-temporal stores write
/// whole lines only.
///
/// There are fewer than [`LONG`] such elements. Both numbers are 0 if no number of elements leads to a multiple, as for
/// 16-bit codes at an odd address.
pub(super) fn head(side: Side, bits: CodeBits, memory: &[u8]) -> [usize; 2] {
    let unit = bits.unit();
    let address = memory.as_ptr().addr();
    let bytes = |units: usize| unit.map(|bytes| units * bytes);
    let found = (0..=LINE).map(bytes).find(|bytes| (address + bytes[side as usize]).is_multiple_of(LINE));
    found.unwrap_or_default()
}

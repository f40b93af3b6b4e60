//! Exports the checksums of casts on the CPU, by numbers alone, so that a host needs no glue.

use std::cell::RefCell;

use support::checksums::{Case, cases, of_blocks};
use wgpu_cast::ElementType;

thread_local! {
    static CASES: Vec<Case> = cases(None, None, true);
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The number of casts whose checksums are recorded.
#[unsafe(no_mangle)]
pub extern "C" fn count() -> u32 {
    CASES.with(|cases| cases.len() as u32)
}

/// The number of inputs of a cast.
#[unsafe(no_mangle)]
pub extern "C" fn inputs(index: u32) -> f64 {
    CASES.with(|cases| cases[index as usize].inputs() as f64)
}

/// Whether the cast is FLOAT to FLOAT16, which stands for those of 32 bits where there is no time for all.
#[unsafe(no_mangle)]
pub extern "C" fn is_example(index: u32) -> bool {
    CASES.with(|cases| {
        let case = &cases[index as usize];
        (case.from, case.to) == (ElementType::FLOAT, ElementType::FLOAT16)
    })
}

/// Casts all inputs; whether the checksum is the recorded one.
#[unsafe(no_mangle)]
pub extern "C" fn is_right(index: u32) -> bool {
    CASES.with(|cases| {
        let case = &cases[index as usize];
        let blocks: Vec<u64> = (0..case.blocks()).map(|block| case.on_cpu(block).expect("a numeric cast")).collect();
        Some(of_blocks(&blocks)) == case.recorded
    })
}

/// Where the text of a cast lies in memory; [`name_length`] is its length.
#[unsafe(no_mangle)]
pub extern "C" fn name(index: u32) -> *const u8 {
    TEXT.with_borrow_mut(|text| {
        *text = CASES.with(|cases| cases[index as usize].to_string());
        text.as_ptr()
    })
}

/// The length of the text that [`name`] gave last.
#[unsafe(no_mangle)]
pub extern "C" fn name_length() -> usize {
    TEXT.with_borrow(String::len)
}

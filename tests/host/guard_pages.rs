//! Casts between memory that ends where the process may not read or write: an access beyond it ends the process. The
//! standard library has non-temporal stores as assembly, which sanitizers do not see. The CPU path uses them only on
//! processors of Intel, and on those of AMD from Zen 3 on.

use std::slice;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use wgpu_cast::{CastOptions, CastSpec, ElementType, Tensor, cpu};

/// Memory between two pages that nothing may access.
struct Guarded {
    start: *mut u8,
    len: usize,
}

impl Guarded {
    /// Memory of at least `bytes` bytes.
    #[allow(unsafe_code, reason = "the system's calls are unsafe: see SAFETY")]
    fn new(bytes: usize) -> Self {
        let page = page_size();
        let len = bytes.next_multiple_of(page);
        // SAFETY: the system chooses new memory. The guards are its first and its last page, of which there is no
        // slice.
        unsafe {
            let memory = mmap_anonymous(
                std::ptr::null_mut(),
                len + 2 * page,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
            .unwrap();
            let start = memory.byte_add(page);
            for guard in [memory, start.byte_add(len)] {
                mprotect(guard, page, MprotectFlags::empty()).unwrap();
            }
            Self { start: start.cast(), len }
        }
    }

    #[allow(unsafe_code, reason = "memory of the system's: see SAFETY")]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the memory is there until `self` is dropped, is zeroed at first, and `self` is borrowed.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The last `len` bytes, directly before a guard.
    fn end(&mut self, len: usize) -> &mut [u8] {
        let start = self.len - len;
        &mut self.bytes()[start..]
    }
}

impl Drop for Guarded {
    #[allow(unsafe_code, reason = "the system's calls are unsafe: see SAFETY")]
    fn drop(&mut self) {
        let page = page_size();
        // SAFETY: this is what `new` mapped, and its slices are gone.
        unsafe { munmap(self.start.byte_sub(page).cast(), self.len + 2 * page).unwrap() };
    }
}

/// The bytes of source and result together from which non-temporal stores are used.
const PAST_CACHES: usize = 48 << 20;

/// Casts of all lengths, at both ends of the memory: short ones, and those large enough for non-temporal stores.
#[test]
fn casts_stay_within_their_memory() {
    use ElementType::*;
    let options = CastOptions::default();
    let pairs =
        [(FLOAT, FLOAT16), (FLOAT16, FLOAT), (DOUBLE, FLOAT), (UINT8, FLOAT16), (FLOAT8E4M3FN, FLOAT), (FLOAT, INT4)];
    let (mut source, mut destination) = (Guarded::new(PAST_CACHES + 999), Guarded::new(PAST_CACHES + 999));
    let seed = 0x9e37_79b9_7f4a_7c15u64;
    for (word, bytes) in source.bytes().chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&(word as u64).wrapping_mul(seed).to_le_bytes());
    }
    for (from, to) in pairs {
        let spec = CastSpec::new(from, to);
        let large = 8 * PAST_CACHES / [from, to].map(|t| t.bits().unwrap() as usize).iter().sum::<usize>();
        for elements in (0..70).chain([large, large + 1, large + 67]) {
            let [read, written] = [from, to].map(|t| t.packed_bytes(elements as u64).unwrap() as usize);
            let codes = source.end(read);
            let expected =
                cpu::cast(&Tensor::from_bytes(from, [elements], codes.to_vec()).unwrap(), to, &options).unwrap();
            cpu::cast_bytes(&spec, codes, elements, destination.end(written)).unwrap();
            assert!(Some(&*destination.end(written)) == expected.bytes(), "{elements} of {from} to {to}, at the end");
            // The same codes, directly after the first guard.
            let codes = source.end(read).to_vec();
            let first = source.bytes()[..read].to_vec();
            source.bytes()[..read].copy_from_slice(&codes);
            let start = &mut destination.bytes()[..written];
            cpu::cast_bytes(&spec, &source.bytes()[..read], elements, start).unwrap();
            assert!(Some(&*start) == expected.bytes(), "{elements} of {from} to {to}, at the start");
            source.bytes()[..read].copy_from_slice(&first);
        }
    }
}

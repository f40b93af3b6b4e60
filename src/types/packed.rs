//! Memory for the packed bytes of a new tensor.

use std::ops::{Deref, DerefMut};

use bytes::Bytes;
// Miri does not know `madvise`.
#[cfg(all(target_os = "linux", not(miri)))]
use memmap2::{Advice, MmapMut};

/// The size in bytes from which memory is mapped directly from the system. glibc keeps smaller memory when it is freed,
/// so that its pages can be reused.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 32 << 20;

/// The bytes of a huge page of most systems. Recent versions of Linux place memory of whole huge pages where one begins. Other memory
/// begins and ends with up to 511 small pages, which the system provides one by one.
#[cfg(all(target_os = "linux", not(miri)))]
const HUGE_PAGE: usize = 2 << 20;

/// Memory for the packed bytes of a new tensor.
pub(crate) enum Memory {
    Own(Vec<u8>),
    /// In huge pages if the system has them: providing ordinary pages takes longer than filling them.
    /// The first bytes are the tensor's.
    #[cfg(all(target_os = "linux", not(miri)))]
    Mapped(MmapMut, usize),
}

impl Memory {
    /// Zeroed memory; `None` if there is none.
    pub(crate) fn zeroed(bytes: usize) -> Option<Self> {
        #[cfg(all(target_os = "linux", not(miri)))]
        if bytes >= LARGE {
            let memory = MmapMut::map_anon(bytes.checked_next_multiple_of(HUGE_PAGE)?).ok()?;
            // Systems without huge pages refuse the advice, which does no harm.
            let _ = memory.advise(Advice::HugePage);
            return Some(Self::Mapped(memory, bytes));
        }
        // `vec!` gets memory that the system has already zeroed, but aborts the process if there is none. Reserving
        // fails with an error instead, so it is tried first.
        let mut probe = Vec::<u8>::new();
        probe.try_reserve_exact(bytes).ok()?;
        drop(probe);
        Some(Self::Own(vec![0; bytes]))
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            #[cfg(all(target_os = "linux", not(miri)))]
            Self::Mapped(memory, bytes) => &memory[..*bytes],
        }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => bytes,
            #[cfg(all(target_os = "linux", not(miri)))]
            Self::Mapped(memory, bytes) => &mut memory[..*bytes],
        }
    }
}

impl From<Memory> for Bytes {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Own(bytes) => bytes.into(),
            #[cfg(all(target_os = "linux", not(miri)))]
            Memory::Mapped(memory, bytes) => Self::from_owner(memory).slice(..bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Memory};

    #[test]
    fn memory_has_the_bytes_that_were_asked_for() {
        for bytes in [0, 1, 4097, (32 << 20) - 1, 32 << 20, (32 << 20) + 1, 35 << 20] {
            let mut memory = Memory::zeroed(bytes).unwrap();
            assert_eq!(memory.len(), bytes);
            memory.fill(7);
            let made = Bytes::from(memory);
            assert_eq!(made.len(), bytes);
            assert!(made.iter().all(|&byte| byte == 7));
        }
        assert!(Memory::zeroed(usize::MAX).is_none());
    }
}

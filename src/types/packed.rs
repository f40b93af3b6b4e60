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

/// Memory for the packed bytes of a new tensor.
pub(crate) enum Memory {
    Own(Vec<u8>),
    /// In huge pages if the system has them: providing ordinary pages takes longer than filling them.
    #[cfg(all(target_os = "linux", not(miri)))]
    Mapped(MmapMut),
}

impl Memory {
    /// Zeroed memory; `None` if there is none.
    pub(crate) fn zeroed(bytes: usize) -> Option<Self> {
        #[cfg(all(target_os = "linux", not(miri)))]
        if bytes >= LARGE {
            let memory = MmapMut::map_anon(bytes).ok()?;
            // Systems without huge pages refuse the advice, which does no harm.
            let _ = memory.advise(Advice::HugePage);
            return Some(Self::Mapped(memory));
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
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => bytes,
            #[cfg(all(target_os = "linux", not(miri)))]
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl From<Memory> for Bytes {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Own(bytes) => bytes.into(),
            #[cfg(all(target_os = "linux", not(miri)))]
            Memory::Mapped(bytes) => Self::from_owner(bytes),
        }
    }
}

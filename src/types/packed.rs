//! Memory for the packed bytes of a new tensor.

use std::ops::{Deref, DerefMut};

use bytes::Bytes;
// Miri does not know `madvise`.
#[cfg(all(target_os = "linux", not(miri)))]
use memmap2::{Advice, MmapMut};

/// The size in bytes from which memory comes from the system by itself. glibc keeps smaller memory that is freed, whose
/// pages are there already.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 32 << 20;

/// Memory for the packed bytes of a new tensor.
pub(crate) enum Memory {
    Own(Vec<u8>),
    /// Where the system can, in huge pages, since it takes longer to provide ordinary ones than to fill them.
    #[cfg(all(target_os = "linux", not(miri)))]
    Mapped(MmapMut),
}

impl Memory {
    /// Zeros; `None` where there is no memory for them.
    pub(crate) fn zeroed(bytes: usize) -> Option<Self> {
        #[cfg(all(target_os = "linux", not(miri)))]
        if bytes >= LARGE {
            let memory = MmapMut::map_anon(bytes).ok()?;
            // Systems without huge pages refuse.
            let _ = memory.advise(Advice::HugePage);
            return Some(Self::Mapped(memory));
        }
        // `vec!` gets memory that the system has already zeroed, but aborts the process where there is none. Reserving
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

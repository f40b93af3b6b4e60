//! Packed bytes of a tensor: its own, or those of another owner; and memory for those of a new one.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

// Miri does not know `madvise`.
#[cfg(all(target_os = "linux", not(miri)))]
use memmap2::{Advice, MmapMut};

/// Bytes of any owner, such as a memory-mapped file, for [`Tensor::from_shared`](crate::Tensor::from_shared).
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Clones share the bytes.
#[derive(Clone)]
pub(crate) enum Packed {
    Own(Arc<Vec<u8>>),
    /// The owner and the length that its bytes had at first.
    Shared(SharedBytes, usize),
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Shared(_, len) => *len,
        }
    }

    /// The bytes. An owner may give others at each call, so that their length is checked each time; it is the error.
    pub(crate) fn bytes(&self) -> Result<&[u8], usize> {
        match self {
            Self::Own(bytes) => Ok(bytes),
            Self::Shared(owner, len) => {
                let bytes = (**owner).as_ref();
                if bytes.len() == *len { Ok(bytes) } else { Err(bytes.len()) }
            }
        }
    }

    /// The bytes, which are copied if anything else shares them.
    pub(crate) fn into_vec(self) -> Result<Vec<u8>, usize> {
        match self {
            Self::Own(bytes) => Ok(Arc::unwrap_or_clone(bytes)),
            Self::Shared(..) => self.bytes().map(<[u8]>::to_vec),
        }
    }

    pub(crate) fn into_shared(self) -> SharedBytes {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(owner, _) => owner,
        }
    }
}

impl From<Vec<u8>> for Packed {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(Arc::new(bytes))
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Packed {}

impl fmt::Debug for Packed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(formatter)
    }
}

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

impl From<Memory> for Packed {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Own(bytes) => bytes.into(),
            #[cfg(all(target_os = "linux", not(miri)))]
            Memory::Mapped(bytes) => {
                let len = bytes.len();
                Self::Shared(Arc::new(bytes), len)
            }
        }
    }
}

//! Packed bytes of a tensor: its own, or those of another owner.

use std::fmt;
use std::sync::Arc;

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

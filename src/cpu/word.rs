//! Integers in memory.

/// A little-endian word.
pub(crate) trait Word: Copy + Send + Sync {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the bytes of a word"))
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

words! { u8 u16 u32 u64 i8 i16 i32 i64 }

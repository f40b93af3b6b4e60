//! Integers in memory, and arrays of one word.

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

/// Four times the same word or vector. The compiler makes a loop of `[a; 4]`, in each loop of a cast that has it, and only
/// later unrolls it, which takes time. It makes one of any longer array, so that vectors of short words are made of four
/// long ones.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn four<T: Copy>(a: T) -> [T; 4] {
    [a, a, a, a]
}

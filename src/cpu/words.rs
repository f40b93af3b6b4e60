//! Little-endian words out of bytes and into them, without a copy where the machine and the address allow it.

use bytemuck::Pod;

/// A word that lies in bytes, lowest first.
pub(crate) trait Word: Pod + Default {
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
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

words! { u8 u16 u32 u64 }

/// The whole words in `bytes`: in their place, or copied to `block`, which must have room for them.
#[inline]
pub(crate) fn words<'a, W: Word>(bytes: &'a [u8], block: &'a mut [u64]) -> &'a [W] {
    let whole = bytes.len() / size_of::<W>();
    let bytes = &bytes[..whole * size_of::<W>()];
    if cfg!(target_endian = "little")
        && let Ok(words) = bytemuck::try_cast_slice(bytes)
    {
        return words;
    }
    let block = first(block, whole);
    for (word, bytes) in block.iter_mut().zip(bytes.chunks_exact(size_of::<W>())) {
        *word = W::read(bytes);
    }
    block
}

/// The first words of a block.
fn first<W: Word>(block: &mut [u64], words: usize) -> &mut [W] {
    bytemuck::cast_slice_mut(&mut bytemuck::cast_slice_mut::<u64, u8>(block)[..words * size_of::<W>()])
}

/// Has `fill` write the words of `bytes`: in their place, or in `block`, from which they are copied.
#[inline]
pub(crate) fn fill_words<W: Word>(bytes: &mut [u8], block: &mut [u64], fill: impl FnOnce(&mut [W])) {
    if cfg!(target_endian = "little")
        && let Ok(words) = bytemuck::try_cast_slice_mut(bytes)
    {
        return fill(words);
    }
    let block = first::<W>(block, bytes.len() / size_of::<W>());
    fill(block);
    for (bytes, word) in bytes.chunks_exact_mut(size_of::<W>()).zip(block) {
        word.write(bytes);
    }
}

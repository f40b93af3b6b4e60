//! The parameter blocks of dispatches, in uniform buffers.
//!
//! Each buffer costs a device time and memory, and costs wgpu some kilobytes until the next submission. So blocks share
//! buffers (see [`Arena`]), and dispatches with equal blocks share a block. All casts of one length between aligned
//! slices have equal blocks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::gpu::arena::Arena;
use crate::plan::{ByteRange, UniformBlock};
use crate::types::conversion::Conversion;
use crate::types::error::Error;

/// The blocks of casts that are bound and not dropped.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    alive: Mutex<Alive>,
}

/// A block in its arena.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub arena: Arc<Arena>,
    pub range: ByteRange,
}

#[derive(Debug, Default)]
struct Alive {
    blocks: HashMap<UniformBlock, (Weak<Arena>, u64)>,
    /// The number of entries at which the entries of freed arenas are removed.
    full: usize,
    /// The arena that takes further blocks.
    open: Weak<Arena>,
    /// The size in bytes of the blocks in `open`.
    used: u64,
}

/// The least number of entries at which the entries of freed arenas are removed.
const LEAST_FULL: usize = 64;

/// The maximum size in bytes of an arena with several blocks. One bound cast can keep an arena alive.
const MOST_BYTES: u64 = 16 << 10;

impl Parameters {
    /// The slot that holds a block.
    pub(crate) fn get(
        &self,
        device: &wgpu::Device,
        conversion: &Conversion,
        block: &UniformBlock,
    ) -> Result<Slot, Error> {
        let bytes = block.bytes();
        let size = bytes.len() as u64;
        let alignment = u64::from(device.limits().min_uniform_buffer_offset_alignment);
        let stride = size.next_multiple_of(alignment);
        let slot = |arena, offset| Slot { arena, range: ByteRange { offset, size } };
        let next = {
            // A poisoned lock is safe to use: each entry is added and removed in one step.
            let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((arena, offset)) = alive.find(block) {
                return Ok(slot(arena, offset));
            }
            if let Some(arena) = alive.open.upgrade()
                && let Some(offset) = arena.add(conversion, &bytes, alignment)?
            {
                alive.used += stride;
                alive.insert(block.clone(), &arena, offset);
                return Ok(slot(arena, offset));
            }
            // Twice the bytes that the last arena took before it was full or sealed. If many casts are bound before the
            // first is recorded, there are few buffers. If each is recorded at once, a buffer has hardly more bytes
            // than its blocks.
            (2 * alive.used).min(MOST_BYTES).max(stride)
        };
        // The lock is not held while the arena is made. Two threads may each make one; both work, and one of them takes
        // further blocks.
        let arena = Arc::new(Arena::new(device, conversion, next, &bytes, alignment)?);
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        (alive.open, alive.used) = (Arc::downgrade(&arena), stride);
        alive.insert(block.clone(), &arena, 0);
        Ok(slot(arena, 0))
    }
}

impl Alive {
    fn find(&self, block: &UniformBlock) -> Option<(Arc<Arena>, u64)> {
        let (arena, offset) = self.blocks.get(block)?;
        Some((arena.upgrade()?, *offset))
    }

    fn insert(&mut self, block: UniformBlock, arena: &Arc<Arena>, offset: u64) {
        if self.blocks.len() >= self.full {
            self.blocks.retain(|_, (arena, _)| arena.strong_count() > 0);
            self.full = (2 * self.blocks.len()).max(LEAST_FULL);
        }
        self.blocks.insert(block, (Arc::downgrade(arena), offset));
    }
}

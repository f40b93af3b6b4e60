//! The parameter blocks of dispatches, in uniform buffers.
//!
//! Each buffer costs a device time and memory, and wgpu some kilobytes until the next submission. So blocks share buffers
//! (see [`Arena`]), and dispatches with equal blocks share a block: all casts of one length between aligned slices have
//! the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::gpu::arena::Arena;
use crate::plan::{ByteRange, UniformBlock};
use crate::types::conversion::Conversion;
use crate::types::error::Error;

/// The blocks that bound casts hold.
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
    /// The number of entries at which those of freed arenas are removed.
    full: usize,
    /// The arena that takes further blocks.
    open: Weak<Arena>,
    /// The bytes of the blocks in it.
    used: u64,
}

/// The least number of entries at which freed arenas are searched for.
const LEAST_FULL: usize = 64;

/// The most bytes of an arena with several blocks. A single bound cast may keep one alive.
const MOST_BYTES: u64 = 16 << 10;

impl Parameters {
    /// The slot of a block.
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
            // Twice what the last one took before it was full or sealed: few buffers for many casts that are bound
            // before the first of them is recorded, and hardly more bytes than blocks where each is recorded at once.
            (2 * alive.used).min(MOST_BYTES).max(stride)
        };
        // The arena is made without the lock. Two threads may each make one; both work, and one of them takes further
        // blocks.
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

//! Which change is chosen. `wgpu-cast-mutants` adds this module to a copy of the crate.

use std::io::Write;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// No variable has been read so far.
const UNKNOWN: u32 = u32::MAX;
/// All changes that are met are recorded, and none is chosen.
const RECORD: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static CHOSEN: AtomicU32 = AtomicU32::new(UNKNOWN);
static MET: [AtomicU8; 1 << 14] = [const { AtomicU8::new(0) }; 1 << 14];

#[inline(always)]
pub(crate) fn is(id: u32) -> bool {
    let chosen = CHOSEN.load(Ordering::Relaxed);
    if chosen < RECORD {
        return chosen == id;
    }
    other(id)
}

#[cold]
fn other(id: u32) -> bool {
    if CHOSEN.load(Ordering::Relaxed) == UNKNOWN {
        let number = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
        let unchosen = if std::env::var_os("MUTANTS_MET").is_some() { RECORD } else { NONE };
        CHOSEN.store(number.unwrap_or(unchosen), Ordering::Relaxed);
        return is(id);
    }
    let met = &MET[id as usize];
    if met.load(Ordering::Relaxed) == 0 && met.swap(1, Ordering::Relaxed) == 0 {
        let path = std::env::var_os("MUTANTS_MET").unwrap();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.unwrap().write_all(&id.to_le_bytes()).unwrap();
    }
    false
}

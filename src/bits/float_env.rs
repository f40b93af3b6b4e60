//! The processor's floating-point modes. Applications change them: many set flush-to-zero and denormals-are-zero, some
//! set another rounding. A new thread inherits the modes of the thread that starts it. A start handler of a thread pool
//! may set others.
//!
//! Casts give the same bits under all modes: [`with_default_modes`] sets the default modes around each piece of work,
//! on the thread that does the work. Rust calls it undefined behaviour to run any Rust code under other modes, so this
//! is hardening beyond what the language guarantees. It works because compilers do not move the work past the assembly
//! that sets the modes. The compiler must assume that the assembly accesses memory, and the work is a function of its
//! own that loads its operands and stores its results.
//!
//! On x86, MXCSR holds the modes of SSE, AVX and AVX-512. On aarch64, FPCR holds those of scalars and vectors. x87 has
//! modes of its own, but with SSE2 its registers hold at most the results of functions, and these are not rounded.
//! WebAssembly has no modes. On other processors this module does nothing, and the modes must be the default ones.

/// Runs `work` under the default modes: rounding to nearest, with subnormals, without traps. `work` must not wait for
/// other threads: a thread of a pool runs other tasks while it waits, and they would run under these modes.
pub(crate) fn with_default_modes<R>(work: impl FnOnce() -> R) -> R {
    let _restored = Restored::after_setting_default();
    not_inlined(work)
}

/// Inlined work could be mixed with the code before and after it, which sets the modes.
#[inline(never)]
pub(crate) fn not_inlined<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Restores the modes when it is dropped, also when work panics. If the modes are the default ones, nothing is written,
/// because writing takes longer than reading.
struct Restored(Option<control::Word>);

impl Restored {
    fn after_setting_default() -> Self {
        let word = control::read();
        let differs = word & control::MODES != control::DEFAULT;
        if differs {
            control::write(control::DEFAULT);
        }
        Self(differs.then_some(word))
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        if let Some(word) = self.0 {
            control::write(word);
        }
    }
}

/// MXCSR.
#[cfg(all(not(miri), any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2"))))]
#[allow(unsafe_code, reason = "only assembly reads and writes MXCSR")]
pub(crate) mod control {
    use std::arch::asm;

    pub(crate) type Word = u32;
    /// All bits except the flags of exceptions that have occurred.
    pub(crate) const MODES: Word = !0x3f;
    /// All exceptions are masked; every other bit is 0.
    pub(crate) const DEFAULT: Word = 0x1f80;

    #[inline]
    pub(crate) fn read() -> Word {
        let mut word = 0;
        // SAFETY: the instruction writes the four bytes of `word`, and every processor of the target has it.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(crate) fn write(word: Word) {
        // SAFETY: the instruction reads the four bytes of `word`. They come from `read` or are the default: no reserved
        // bit is set.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

/// FPCR. The flags of exceptions are in another register.
#[cfg(all(not(miri), target_arch = "aarch64"))]
#[allow(unsafe_code, reason = "only assembly reads and writes FPCR")]
pub(crate) mod control {
    use std::arch::asm;

    pub(crate) type Word = u64;
    pub(crate) const MODES: Word = !0;
    pub(crate) const DEFAULT: Word = 0;

    #[inline]
    pub(crate) fn read() -> Word {
        let word;
        // SAFETY: programs may read the register. `nomem` is left out so that no access to memory moves past this.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(crate) fn write(word: Word) {
        // SAFETY: programs may write the register; the word comes from `read` or is the default.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

/// No modes, or none that are known here. Miri runs no assembly, and has the default modes.
#[cfg(any(
    miri,
    not(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2"), target_arch = "aarch64"))
))]
pub(crate) mod control {
    pub(crate) type Word = u32;
    pub(crate) const MODES: Word = 0;
    pub(crate) const DEFAULT: Word = 0;

    pub(crate) fn read() -> Word {
        0
    }

    pub(crate) fn write(_: Word) {}
}

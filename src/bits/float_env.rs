//! The processor's floating-point modes, which applications change: many set flush-to-zero and denormals-are-zero, some
//! another rounding. A thread inherits them from the one that starts it, or has them from its pool's start handler.
//!
//! Casts give the same bits under all of them: [`with_default_modes`] sets the default modes around each piece of work,
//! on the thread that does it. Rust calls it undefined behaviour to run any Rust code under other modes, so this is
//! hardening beyond what the language guarantees. It works because compilers do not move what it encloses: the assembly
//! may access memory as far as they know, and the work is in a function of its own that loads its operands and stores
//! its results.
//!
//! On x86 the modes of SSE, AVX and AVX-512 are all in MXCSR, on aarch64 those of scalars and vectors in FPCR. x87 has
//! modes of its own, but with SSE2 its registers hold at most the results of functions, which they do not round.
//! WebAssembly has no modes. On other processors this does nothing, and the modes must be the default ones.

/// Runs `work` under the default modes: to nearest, with subnormals, without traps. Work that waits for other threads
/// must not be run so, since it may do other work meanwhile.
pub(crate) fn with_default_modes<R>(work: impl FnOnce() -> R) -> R {
    let _restored = Restored::after_setting_default();
    not_inlined(work)
}

/// What the compiler would inline it could also mix with what is before and after it.
#[inline(never)]
pub(crate) fn not_inlined<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Sets the modes back when it is dropped, also when work panics. Nothing is written where the modes are the default
/// ones, since that takes longer than reading them.
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
    /// All but the flags of exceptions that have occurred.
    pub(crate) const MODES: Word = !0x3f;
    /// All exceptions masked.
    pub(crate) const DEFAULT: Word = 0x1f80;

    #[inline]
    pub(crate) fn read() -> Word {
        let mut word = 0;
        // SAFETY: it writes the four bytes of `word`, and every processor of the target has the instruction.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(crate) fn write(word: Word) {
        // SAFETY: it reads the four bytes of `word`, which come from `read` or are the default: no reserved bit is set.
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
        // SAFETY: programs may read the register. Without `nomem`, memory is accessed before or after it.
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

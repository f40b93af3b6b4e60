//! The threads of large casts.
//!
//! The module has a pool of its own. After a fork, the child has none of its parent's threads, so that it must make
//! another pool; rayon's global pool could not be replaced.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use wgpu_cast::cpu;

use crate::arguments;
use crate::error::cast_error;

/// The most threads. Each takes memory for its stack.
const MOST: usize = 1024;

struct Threads {
    /// `None`: one for each processor.
    wanted: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

/// Locked only for moments, by threads that are attached to the interpreter. So with a GIL, no thread holds it during a
/// fork.
static THREADS: Mutex<Threads> = Mutex::new(Threads { wanted: None, pool: None });

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of a cast.
pub enum Pool {
    Alone,
    Shared(Arc<ThreadPool>),
}

impl Pool {
    /// The threads that the caller wants.
    ///
    /// # Errors
    /// The system does not start the number of threads that was set.
    pub fn get(_py: Python<'_>) -> PyResult<Self> {
        let mut threads = threads();
        if threads.wanted == Some(1) {
            return Ok(Self::Alone);
        }
        if threads.pool.is_none() {
            threads.pool = match (build(threads.wanted.unwrap_or(0)), threads.wanted) {
                (Ok(pool), _) => Some(pool),
                // Where the system starts no threads, such as at a limit of processes, the calling one does all the work. The
                // next cast tries again.
                (Err(_), None) => None,
                (Err(error), Some(n)) => {
                    return Err(PyRuntimeError::new_err(format!("cannot start {n} threads: {error}")));
                }
            };
        }
        Ok(threads.pool.clone().map_or(Self::Alone, Self::Shared))
    }

    /// The threads as a pool, also if it is only one.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn shared(self) -> PyResult<Arc<ThreadPool>> {
        match self {
            Self::Shared(pool) => Ok(pool),
            Self::Alone => build(1).map_err(no_thread),
        }
    }

    /// Runs `work`, whose casts use these threads.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Alone => cpu::on_this_thread(work),
            Self::Shared(pool) => pool.install(work),
        }
    }
}

/// A pool of `threads` threads; 0 stands for one for each processor.
fn build(threads: usize) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(threads).build().map(Arc::new)
}

/// The error of a command, which does not run on the calling thread: that one looks at signals.
pub fn no_thread(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(format!("the system starts no thread, and convert and info need one: {error}"))
}

/// Set the number of threads of casts of more than 131,072 elements, and of conversions of files.
///
/// ``n`` is 1 to 1024, or None for one thread for each processor, which is the default. Casts that run keep their threads.
/// Where the system does not start one for each processor, casts use the calling thread alone.
///
/// Raises CastError for other numbers. Later casts raise RuntimeError if the system does not start ``n`` threads.
#[pyfunction]
pub fn set_threads(n: &Bound<'_, PyAny>) -> PyResult<()> {
    let refused = |given: &str| cast_error(n.py(), format!("the number of threads must be 1 to {MOST}, got {given}"));
    let wanted = arguments::integer(n, "n", refused)?;
    let allowed = |n: i64| usize::try_from(n).ok().filter(|n| (1..=MOST).contains(n)).ok_or(n);
    let wanted = wanted.map(allowed).transpose().map_err(|n| refused(&n.to_string()))?;
    let mut threads = threads();
    *threads = Threads { wanted, pool: None };
    Ok(())
}

/// Gives up the threads of the parent process, after a fork.
#[pyfunction]
pub fn after_fork() {
    let pool = threads().pool.take();
    // Dropping it would wait for threads that do not exist here.
    std::mem::forget(pool);
}

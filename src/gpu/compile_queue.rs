//! Compiles kernels in the background for `Caster::prepare_async`, on a few threads that end when nothing is left to
//! do.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct CompileQueue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    workers: usize,
}

impl std::fmt::Debug for CompileQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompileQueue").field("workers", &self.lock().workers).finish_non_exhaustive()
    }
}

impl CompileQueue {
    /// Runs a job on another thread, in its turn. If no thread can be started, the job is dropped.
    pub(crate) fn push(self: &Arc<Self>, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        if state.workers < most_threads() {
            let queue = self.clone();
            let worker = thread::Builder::new().name("cast compile".to_owned()).spawn(move || queue.work());
            state.workers += usize::from(worker.is_ok());
        }
        if state.workers == 0 {
            state.jobs.clear();
        }
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            // A panic has printed its message. The channel of the job is closed then, so that its receiver learns of
            // it.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// The next job, or `None` if the calling worker must end.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        let job = state.jobs.pop_front();
        state.workers -= usize::from(job.is_none());
        job
    }

    /// A poisoned lock is safe to use: jobs and workers are counted in one step.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The maximum number of threads that compile at a time.
pub(crate) fn most_threads() -> usize {
    thread::available_parallelism().map_or(1, |threads| threads.get())
}

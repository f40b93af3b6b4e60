//! The program `wgpu-cast`, and conversions of files by it.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use wgpu_cast_cli::embedded::{self, Printed, Refused};

use crate::error::convert_error;
use crate::threads::{self, Pool};

/// The time between two looks at signals such as Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the program with these arguments, of which the first is its name. Returns the exit status.
#[pyfunction]
pub fn program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| wgpu_cast_cli::program(arguments))
}

/// Runs a command of the program on another thread, and calls `progress` on this one with the bytes that are done, all
/// bytes, and a name. Returns what the command would have printed, and its warnings. An exception of `progress`, or of a
/// handler of signals, stops the command.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    arguments: Vec<OsString>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let pool = Pool::get(py)?.shared()?;
    let stop = Arc::new(AtomicBool::new(false));
    let (send, receive) = mpsc::channel();
    let command = {
        let stop = stop.clone();
        move || {
            let on_progress = move |done: u64, total: u64, name: &str| {
                // The receiver is gone only when the command is to stop.
                send.send((done, total, name.to_owned())).is_ok() && !stop.load(Ordering::Relaxed)
            };
            embedded::run(arguments, Box::new(on_progress), Some(pool))
        }
    };
    let worker = std::thread::Builder::new().name("wgpu-cast".to_owned()).spawn(command).map_err(threads::no_thread)?;
    let receive = std::sync::Mutex::new(receive);
    let next = || receive.lock().map_or(Err(RecvTimeoutError::Disconnected), |receive| receive.recv_timeout(LOOK));
    let watched = loop {
        let told = match py.detach(next) {
            Ok((done, total, name)) => progress.map_or(Ok(()), |call| call.call1((done, total, name)).map(drop)),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        };
        if let Err(error) = told.and_then(|()| py.check_signals()) {
            break Err(error);
        }
    };
    stop.store(true, Ordering::Relaxed);
    let result = py.detach(|| worker.join());
    watched?;
    let result: Result<Printed, Refused> = result.map_err(|_| PyRuntimeError::new_err("the command panicked"))?;
    match result {
        Ok(printed) => Ok((printed.stdout, printed.warnings)),
        Err(refused) => Err(convert_error(py, refused.message, refused.status)),
    }
}

//! The environment in which drivers are loaded.

#[cfg(target_os = "linux")]
use crate::args::PROGRAM;

/// Mesa's layer that chooses among Vulkan devices asks for a Wayland display, and prints an error on stderr if this
/// variable names no folder. With any folder it goes on silently, and finds no display there either.
#[cfg(target_os = "linux")]
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// Starts the program again with a value of the variable if it has none, so that stderr has the messages of this
/// program only. A process cannot safely change its own environment. If it cannot be started, it goes on as it is.
#[cfg(target_os = "linux")]
pub fn prepare_for_drivers() {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    if std::env::var_os(RUNTIME).is_some_and(|folder| folder.as_encoded_bytes().starts_with(b"/")) {
        return;
    }
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_else(|| PROGRAM.into());
    let _ = Command::new("/proc/self/exe").arg0(name).args(words).env(RUNTIME, "/nonexistent").exec();
}

#[cfg(not(target_os = "linux"))]
pub fn prepare_for_drivers() {}

//! The environment in which drivers are loaded.

#[cfg(target_os = "linux")]
use crate::args::PROGRAM;

/// Mesa's layer that chooses among Vulkan devices asks for a Wayland display. If this variable names no folder, it
/// prints an error on stderr. With any folder it finds no display either, but prints nothing.
#[cfg(target_os = "linux")]
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// If the variable has no value, starts the program again with one. So stderr has only the messages of this program. A
/// process cannot safely change its own environment. If the program cannot be started again, this process goes on.
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

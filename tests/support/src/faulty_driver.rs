//! A Vulkan driver that fails where a test wants it to: `faulty_driver.c` in front of the installed software driver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SOURCE: &str = include_str!("../faulty_driver.c");

/// Where Linux keeps the manifests of drivers.
const MANIFESTS: [&str; 3] = ["/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"];

/// The variables that name manifests, the newer one first.
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// The faulty driver, compiled.
#[derive(Debug)]
pub struct FaultyDriver {
    manifest: PathBuf,
    installed: PathBuf,
}

impl FaultyDriver {
    /// Compiles the driver into a folder.
    ///
    /// # Errors
    /// The reason why the driver cannot be compiled here.
    pub fn build(folder: &Path) -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("the faulty driver is one of Linux".to_owned());
        }
        let installed = installed().ok_or("there is no software Vulkan driver (llvmpipe)")?;
        let [source, library, manifest] =
            ["faulty_driver.c", "libfaulty_driver.so", "faulty.json"].map(|name| folder.join(name));
        fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let output = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()
            .map_err(|error| format!("there is no C compiler: {error}"))?;
        // A compiler that refuses the driver is an error, not a reason to leave a test out: the driver compiles
        // elsewhere.
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = format!(
            r#"{{"file_format_version": "1.0.0", "ICD": {{"library_path": {library:?}, "api_version": "1.1.0"}}}}"#
        );
        fs::write(&manifest, text).map_err(|error| error.to_string())?;
        Ok(Self { manifest, installed })
    }

    /// The environment of a process that has this driver with a fault, and no other Vulkan driver. The faults are those
    /// of `faulty_driver.c`.
    pub fn variables<'a>(&'a self, fault: &'a str) -> [(&'static str, &'a str); 4] {
        let [manifest, installed] = [&self.manifest, &self.installed].map(|path| path.to_str().expect("UTF-8"));
        [(VARIABLES[0], manifest), (VARIABLES[1], manifest), ("CAST_FAULT_DRIVER", installed), ("CAST_FAULT", fault)]
    }
}

/// The library of the software driver that is used here.
fn installed() -> Option<PathBuf> {
    let named = VARIABLES.iter().find_map(env::var_os);
    let mut manifests: Vec<PathBuf> = match named {
        Some(paths) => env::split_paths(&paths).collect(),
        None => {
            let entries = MANIFESTS.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
        }
    };
    // There may be manifests for other architectures, too.
    manifests.sort_by_key(|path| !path.to_string_lossy().contains(env::consts::ARCH));
    let is_software = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("lvp"));
    let manifest = manifests.iter().find(is_software)?;
    let text = fs::read_to_string(manifest).ok()?;
    let (_, after) = text.split_once("\"library_path\"")?;
    let library = PathBuf::from(after.split('"').nth(1)?);
    // The system finds a library by its name. Any other path is relative to the manifest.
    let is_name = library.components().count() == 1;
    Some(if is_name { library } else { manifest.parent()?.join(library) })
}

//! Finds, before any work, the reasons why outputs could not be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic::partial;
use crate::atomic::target::{self, Existing, folder_of, follow_links, is_special};
use crate::failure::Failure;
use crate::output::size;

/// A file that is to be made.
pub struct Planned {
    pub path: PathBuf,
    /// The bytes that it will have at least.
    pub bytes: u64,
    pub existing: Existing,
}

/// The bytes that a file system must hold.
#[derive(Default)]
struct Need {
    folder: PathBuf,
    now: i128,
    most: i128,
}

/// The reasons why files could not be written in this order, one for each file, folder or file system that refuses
/// them. Folders in `root` will be created. With `keeps_all`, no old file is replaced before all new files are
/// complete.
pub fn of(planned: &[Planned], root: Option<&Path>, keeps_all: bool) -> Vec<Failure> {
    let mut refused = Vec::new();
    let mut folders = BTreeMap::new();
    let mut needs: BTreeMap<u64, Need> = BTreeMap::new();
    for file in planned.iter().filter(|file| !is_special(&file.path)) {
        let target = match check(file, root) {
            Ok(target) => target,
            Err(failure) => {
                refused.push(failure);
                continue;
            }
        };
        let folder = existing_folder(&target);
        let is_first = !folders.contains_key(&folder);
        let known = folders.entry(folder.clone()).or_insert_with(|| check_folder(&folder));
        match known {
            Ok(device) => {
                let need = needs.entry(*device).or_insert_with(|| Need { folder, ..Need::default() });
                need.add(file.bytes, &target, keeps_all);
            }
            Err(what) if is_first => refused.push(Failure::at(&file.path, format_args!("cannot write: {what}"))),
            Err(_) => {}
        }
    }
    refused.extend(needs.values().filter_map(Need::refusal));
    refused
}

/// Refuses a file that may not be replaced, or that has no folder. Returns the path to which links lead.
fn check(file: &Planned, root: Option<&Path>) -> Result<PathBuf, Failure> {
    let target = follow_links(&file.path).map_err(|error| Failure::write(&file.path, error))?;
    let folder = folder_of(&target);
    if root.is_some_and(|root| folder.starts_with(root)) && !folder.exists() {
        return Ok(target);
    }
    target::check(&file.path, file.existing)
}

/// The folder of a file. If it does not exist, the folder in which it will be created.
fn existing_folder(file: &Path) -> PathBuf {
    let exists = folder_of(file).ancestors().find(|folder| folder.symlink_metadata().is_ok());
    exists.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// The file system of a folder, if files can be written into the folder.
///
/// # Errors
/// It is no folder, or not writable.
fn check_folder(folder: &Path) -> Result<u64, String> {
    let metadata = fs::metadata(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if !metadata.is_dir() {
        return Err(format!("{} is not a folder", folder.display()));
    }
    check_writable(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(device(&metadata))
}

impl Need {
    /// Adds a file. It is written beside its place, and then replaces the file there. The partial file of an
    /// interrupted run is continued or removed, so its bytes do not count twice.
    fn add(&mut self, bytes: u64, target: &Path, keeps_all: bool) {
        let left = partial::path_of(target).symlink_metadata().map_or(0, |metadata| stored(&metadata));
        self.now += i128::from(bytes) - i128::from(left);
        self.most = self.most.max(self.now);
        if let (false, Ok(old)) = (keeps_all, fs::metadata(target)) {
            self.now -= i128::from(stored(&old));
        }
    }

    fn refusal(&self) -> Option<Failure> {
        let free = free(&self.folder)?;
        let need = u64::try_from(self.most).ok().filter(|&need| need > free)?;
        let what = format!("not enough space: {} are needed, {} are free", size(need), size(free));
        Some(Failure::at(&self.folder, what))
    }
}

#[cfg(unix)]
fn check_writable(folder: &Path) -> std::io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(unix)]
fn device(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(metadata)
}

/// The bytes that are freed when a file is removed. A file with another name keeps its bytes.
#[cfg(unix)]
fn stored(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    if metadata.nlink() == 1 { metadata.blocks() * 512 } else { 0 }
}

/// The bytes that a user may still write; `None` if the file system does not say.
#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok().filter(|found| found.f_blocks > 0)?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// On other systems this shows only when a file is written.
#[cfg(not(unix))]
fn check_writable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn device(_: &fs::Metadata) -> u64 {
    0
}

#[cfg(not(unix))]
fn stored(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

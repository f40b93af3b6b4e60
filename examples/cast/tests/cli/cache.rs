//! What stands in the place of the pipeline cache's file.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use crate::tool::{Folder, INSTALL, Outcome, floats, npy};

/// A cast on a GPU, which must succeed and not take long.
fn cast(folder: &Folder) -> Outcome {
    let run = || folder.cast("convert a.npy out.npy --to float8e4m3fn --device gpu");
    let outcome = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || sender.send(run()));
        receiver.recv_timeout(Duration::from_secs(120)).expect("an end")
    });
    assert_eq!(outcome.status, Some(0), "{INSTALL}; {}", outcome.stderr);
    assert_eq!(folder.read("out.npy"), npy("<V1", false, "(3,)", &[0x38, 0x7e, 0x9d]));
    outcome
}

/// A folder and the file that a cast has kept, if the adapter has pipeline caches.
fn kept() -> Option<(Folder, PathBuf)> {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(3,)", &floats(&[1.0, 440.0, -0.1])));
    assert_eq!(cast(&folder).stderr.lines().count(), 1);
    let path = folder.kept().pop();
    if path.is_none() {
        support::not_tested("this adapter has no pipeline caches");
    }
    path.map(|path| (folder, path))
}

fn note(path: &Path, reason: &str) -> String {
    format!("warning: the pipeline cache {} is not used: {reason}", path.display())
}

#[test]
fn only_a_file_of_the_user_is_read_or_replaced() {
    let Some((folder, path)) = kept() else { return };
    let own = path.parent().unwrap();
    assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let data = fs::read(&path).unwrap();
    folder.write("victim", "not a cache");
    let make = |what: &str| match what {
        "pipe" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
        "endless" => symlink("/dev/zero", &path).unwrap(),
        "victim" => symlink(folder.path().join("victim"), &path).unwrap(),
        "nothing" => symlink(folder.path().join("nothing"), &path).unwrap(),
        "open" => {
            fs::write(&path, &data).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        }
        _ => fs::File::create(&path).unwrap().set_len((64 << 20) + 1).unwrap(),
    };
    for (what, reason) in [
        ("pipe", "it is not a regular file"),
        ("endless", "it is a symbolic link"),
        ("victim", "it is a symbolic link"),
        ("nothing", "it is a symbolic link"),
        ("open", "other users can write to it"),
        ("large", "it has more than 67108864 bytes"),
    ] {
        fs::remove_file(&path).unwrap();
        make(what);
        let before = path.symlink_metadata().unwrap();
        let outcome = cast(&folder);
        let lines: Vec<_> = outcome.stderr.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, note(&path, reason).as_str()), "{what}");
        let after = path.symlink_metadata().unwrap();
        assert_eq!((after.file_type(), after.len()), (before.file_type(), before.len()), "{what}");
        assert_eq!(folder.names(), ["a.npy", "out.npy", "victim"], "{what}");
        assert_eq!(folder.read("victim"), b"not a cache", "{what}");
    }
    // The folder itself.
    fs::rename(own, folder.path().join("elsewhere")).unwrap();
    symlink(folder.path().join("elsewhere"), own).unwrap();
    let outcome = cast(&folder);
    assert!(outcome.stderr.starts_with(&note(&path, "its folder is a symbolic link")), "{}", outcome.stderr);
}

/// The driver's data for another backend, with the right checksum.
#[test]
fn data_that_the_device_rejects_is_replaced() {
    let Some((folder, path)) = kept() else { return };
    let mut data = fs::read(&path).unwrap();
    // The checksum of eight bytes; then wgpu's header, whose byte 16 is the backend.
    data[8 + 16] ^= 0x55;
    let mut hasher = DefaultHasher::new();
    hasher.write(&data[8..]);
    data[..8].copy_from_slice(&hasher.finish().to_le_bytes());
    fs::write(&path, &data).unwrap();
    let outcome = cast(&folder);
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with(&note(&path, "")), "{lines:?}");
    assert_ne!(fs::read(&path).unwrap(), data);
    assert_eq!(cast(&folder).stderr.lines().count(), 1);
}

//! Commands inside another program.

use std::cell::RefCell;
use std::ffi::OsString;
use std::rc::Rc;
use std::sync::mpsc;

use wgpu_cast_cli::embedded::{Printed, Refused, run};

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

/// The words of a line, with `DIR` as the folder.
fn words(folder: &Folder, line: &str) -> Vec<OsString> {
    let folder = folder.path().to_str().expect("a path of text");
    line.split_whitespace().map(|word| word.replace("DIR", folder).into()).collect()
}

fn run_line(folder: &Folder, line: &str) -> Result<Printed, Refused> {
    run(words(folder, line), Box::new(|_, _, _| true), None)
}

fn refused(folder: &Folder, line: &str) -> (u8, String) {
    let refused = run_line(folder, line).expect_err("an error");
    (refused.status, refused.message.replace(folder.path().to_str().expect("a path of text"), "DIR"))
}

#[test]
fn the_caller_gets_what_the_program_would_print() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(3,)", &floats(&[1.0, 70000.0, 3.0])));
    let (send, receive) = mpsc::channel();
    let on_progress = Box::new(move |done, total, name: &str| send.send((done, total, name.to_owned())).is_ok());
    let line = "convert --json --to float16 DIR/a.npy DIR/b.npy";
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let printed = run(words(&folder, line), on_progress, Some(pool.into())).expect("a conversion");
    let lines: Vec<_> = printed.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(r#"{"bytes":[12,6],"file":"#), "{}", lines[0]);
    let warning = "1 value beyond the range of the type (--strict makes this an error, --stats lists all tensors)";
    assert_eq!(printed.warnings, [warning]);
    let told: Vec<_> = receive.iter().map(|(done, total, _)| (done, total)).collect();
    assert_eq!(told.last(), Some(&(134, 134)));
    // The same output again, in the same process.
    let printed = run_line(&folder, "convert --to float16 DIR/a.npy DIR/b.npy").expect("a conversion");
    assert_eq!((printed.stdout.as_str(), printed.warnings.as_slice()), ("", &[warning.to_owned()][..]));
    let printed = run_line(&folder, "info DIR/b.npy").expect("a list");
    assert_eq!(printed.stdout, format!("{} [3]: float16, 6 bytes\n", folder.path().join("b.npy").display()));
}

#[test]
fn errors_have_the_status_and_the_text_of_the_program() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[70000.0])));
    assert_eq!(
        refused(&folder, "convert --to float16 DIR/b.npy DIR/c.npy"),
        (1, "DIR/b.npy: No such file or directory (os error 2)".to_owned())
    );
    assert_eq!(refused(&folder, "convert --strict --to float16 DIR/a.npy DIR/c.npy").0, 1);
    let usage =
        "invalid value 'float9' for '--to <TYPE>': unknown element type \"float9\", did you mean float?".to_owned();
    assert_eq!(refused(&folder, "convert --to float9 DIR/a.npy DIR/c.npy"), (2, usage));
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn a_command_that_is_stopped_leaves_nothing() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1048576,)", &vec![0; 4 << 20]));
    let line = "convert --memory 1MiB --to float16 DIR/a.npy DIR/new/b.npy";
    let mut calls = 0;
    let on_progress = Box::new(move |_, _, _: &str| {
        calls += 1;
        calls < 3
    });
    std::fs::create_dir(folder.path().join("new")).expect("a folder");
    let stopped = run(words(&folder, line), on_progress, None).expect_err("an error");
    assert_eq!(stopped.status, 1);
    assert_eq!(folder.entries("new"), [""; 0]);
    assert!(run_line(&folder, line).is_ok());
    assert_eq!(folder.entries("new"), ["b.npy"]);
}

/// The weights are read first. That counts as work, and can be stopped.
#[test]
fn quantizing_is_stopped_before_it_writes() {
    let folder = Folder::new();
    let weight = vec![0; 2 << 20];
    folder.write("a.safetensors", checkpoint(&[("l.weight", "F32", &[512, 1024], &weight)]));
    let line = "convert --quantize row DIR/a.safetensors DIR/new/b.safetensors";
    std::fs::create_dir(folder.path().join("new")).expect("a folder");
    let told = Rc::new(RefCell::new(Vec::new()));
    let run_until = |last: u64| {
        told.borrow_mut().clear();
        let told = told.clone();
        let on_progress = Box::new(move |done, total, _: &str| {
            told.borrow_mut().push((done, total));
            done < last
        });
        run(words(&folder, line), on_progress, None)
    };
    let stopped = run_until(1 << 20).expect_err("an error");
    assert_eq!(stopped.status, 1);
    let (done, total) = *told.borrow().last().expect("a call");
    assert_eq!((done, folder.entries("new")), (1 << 20, Vec::new()));
    run_until(u64::MAX).expect("a conversion");
    let output = folder.read("new/b.safetensors").len() as u64;
    assert_eq!((total, told.borrow().last()), ((2 << 20) + output, Some(&(total, total))));
}

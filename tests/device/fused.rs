//! The example `fused`, which calls casts as functions in kernels of its own.

#[path = "../../examples/fused.rs"]
mod example;

use std::process::{Command, ExitCode};

use support::adapter;

#[test]
fn it_compares_the_weights_and_names_the_adapter() {
    adapter::open();
    let mut output = Vec::new();
    example::run(&mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("1024 x 4096 weights of float8e4m3fn on "), "{lines:?}");
    assert_eq!(lines[1], "the decoded weights have the bits of the cast; the sums agree; so do those of MXFP4");
    assert!(lines[2..].iter().all(|line| line.contains(" ms  ")) && lines.len() == 5, "{lines:?}");
}

/// The example runs in a process of its own, where every driver is hidden.
#[test]
fn without_an_adapter_it_fails_and_says_so() {
    const CHILD: &str = "WGPU_CAST_TEST_FUSED";
    if std::env::var_os(CHILD).is_some() {
        assert_eq!(format!("{:?}", example::main()), format!("{:?}", ExitCode::FAILURE));
        return;
    }
    if !cfg!(target_os = "linux") {
        support::not_tested("drivers are hidden by variables of Linux");
        return;
    }
    let nowhere = |name| (name, "/nonexistent");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fused::without_an_adapter_it_fails_and_says_so", "--nocapture"])
        .envs(["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"].map(nowhere))
        .env(CHILD, "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stderr.starts_with("fused: no GPU adapter (") && stderr.lines().count() == 1, "{stderr}");
}

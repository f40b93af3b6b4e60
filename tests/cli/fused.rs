//! The example `fused`, which calls casts as functions in kernels of its own.

use crate::tool::{Folder, INSTALL};

#[test]
fn it_compares_the_weights_and_names_the_adapter() {
    let outcome = Folder::new().example("fused");
    assert!(!outcome.stderr.contains("no GPU adapter"), "{INSTALL}; {}", outcome.stderr);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = outcome.text().lines().collect();
    assert!(lines[0].starts_with("1024 x 4096 weights of float8e4m3fn on "), "{lines:?}");
    assert_eq!(lines[1], "the decoded weights have the bits of the cast; the sums agree");
    assert!(lines[2..].iter().all(|line| line.contains(" ms  ")) && lines.len() == 5, "{lines:?}");
}

#[test]
fn without_an_adapter_it_fails_and_says_so() {
    let outcome = Folder::new().example_without_gpu("fused");
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.line().starts_with("fused: no GPU adapter ("), "{}", outcome.stderr);
}

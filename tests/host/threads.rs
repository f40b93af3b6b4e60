//! Which casts start threads.

use std::process::Command;

use rayon::ThreadPoolBuilder;
use wgpu_cast::{CastOptions, ElementType, cpu};

/// A small cast leaves rayon's global pool to the application, which may still choose its threads. In a process of its own,
/// since a pool cannot be undone.
#[test]
fn small_casts_start_no_threads() {
    const CHILD: &str = "WGPU_CAST_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let name = "threads::small_casts_start_no_threads";
        let child =
            Command::new(std::env::current_exe().unwrap()).args([name, "--exact"]).env(CHILD, "1").output().unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let mut result = [0; 32];
    cpu::cast_bytes(ElementType::FLOAT, &[0; 64], 16, ElementType::FLOAT16, &CastOptions::default(), &mut result)
        .unwrap();
    ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
}

//! Which casts start threads.

use std::process::Command;

use rayon::ThreadPoolBuilder;
use wgpu_cast::{CastOptions, CastSpec, ElementType, Tensor, cpu};

fn float_to_half() -> CastSpec {
    CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16)
}

/// After a small cast, the application can still choose the threads of rayon's global pool. The test runs in a process
/// of its own, because a pool cannot be removed.
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
    cpu::cast_bytes(&float_to_half(), &[0; 64], 16, &mut result).unwrap();
    ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
}

/// An application's environment has no influence on its casts. The test casts in a process of its own, which reads the
/// environment.
#[test]
fn the_environment_chooses_no_instruction_set() {
    const CHILD: &str = "WGPU_CAST_TEST_ISA";
    if std::env::var_os(CHILD).is_some() {
        let ones = Tensor::from_slice([40], &[1.0f32; 40]).unwrap();
        let cast = cpu::cast(&ones, ElementType::FLOAT16, &CastOptions::default()).unwrap();
        assert_eq!(cast.codes().collect::<Vec<_>>(), [0x3c00; 40]);
        return;
    }
    let name = "threads::the_environment_chooses_no_instruction_set";
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args([name, "--exact"]).env(CHILD, "1").env("WGPU_CAST_ISA", "none").output().unwrap();
    // Only a build for tests of one instruction set reads the variable, and refuses a name that it does not know.
    assert_eq!(child.status.success(), !cfg!(wgpu_cast_isa), "{}", String::from_utf8_lossy(&child.stdout));
}

/// A name; work on a number of elements; a number that starts no threads, and a number that does.
type Work = (&'static str, fn(usize), usize, usize);

const WORK: [Work; 4] = [
    ("cast", cast, 131_071, 140_000),
    ("compare", compare, 131_071, 131_072),
    ("print", print, 16_384, 16_385),
    ("parse", parse, 16_384, 16_385),
];

fn cast(len: usize) {
    let mut result = vec![0; 2 * len];
    cpu::cast_bytes(&float_to_half(), &vec![0; 4 * len], len, &mut result).unwrap();
}

fn compare(len: usize) {
    let (source, result) = (vec![0; 4 * len], vec![0; 2 * len]);
    cpu::largest_relative_error(&float_to_half(), &source, len, &result).unwrap();
}

fn print(len: usize) {
    let numbers = Tensor::from_slice([len], &vec![1.5f32; len]).unwrap();
    assert_eq!(cpu::cast(&numbers, ElementType::STRING, &CastOptions::default()).unwrap().len(), len);
}

fn parse(len: usize) {
    let texts = Tensor::from_strings([len], vec!["1"; len]).unwrap();
    assert_eq!(cpu::cast(&texts, ElementType::FLOAT, &CastOptions::default()).unwrap().len(), len);
}

/// Each work runs in a process of its own. If it has started the global pool, no other pool can be built.
#[test]
fn large_work_uses_the_pool_unless_it_is_on_this_thread() {
    const CHILD: &str = "WGPU_CAST_TEST_WORK";
    if let Ok(child) = std::env::var(CHILD) {
        let (name, how) = child.split_once(' ').unwrap();
        let (_, work, small, large) = WORK.into_iter().find(|(work, ..)| *work == name).unwrap();
        match how {
            "small" => work(small),
            "large" => work(large),
            "alone" => cpu::on_this_thread(|| work(large)),
            _ => {
                cpu::on_this_thread(|| work(small));
                work(large);
            }
        }
        let is_started = ThreadPoolBuilder::new().num_threads(1).build_global().is_err();
        assert_eq!(is_started, matches!(how, "large" | "after"), "{child}");
        return;
    }
    let name = "threads::large_work_uses_the_pool_unless_it_is_on_this_thread";
    for (work, ..) in WORK {
        for how in ["small", "large", "alone", "after"] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            let child = child.args([name, "--exact"]).env(CHILD, format!("{work} {how}")).output().unwrap();
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        }
    }
}

/// Where the system refuses threads, the calling thread does all the work. Stacks that are nearly as large as all addresses
/// fit into no memory.
#[test]
fn large_work_needs_no_other_thread() {
    const CHILD: &str = "WGPU_CAST_TEST_REFUSED";
    if let Some(child) = std::env::var_os(CHILD) {
        assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "a thread was started");
        // The application has tried to build the pool before.
        assert!(child != "tried" || ThreadPoolBuilder::new().build_global().is_err());
        for (_, work, _, large) in WORK {
            work(large);
            work(large);
        }
        return;
    }
    let name = "threads::large_work_needs_no_other_thread";
    for how in ["untried", "tried"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        // With one thread for tests, they run on the main thread.
        let child = child.args([name, "--exact", "--test-threads=1"]).env(CHILD, how);
        let child = child.env("RUST_MIN_STACK", (usize::MAX - (1 << 24)).to_string()).output().unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && told.contains("1 passed"), "{how}: {told}");
    }
}

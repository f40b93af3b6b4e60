//! What `Caster::self_test` costs: kernels, time and memory, for 30 casts and each `Coverage`.
//!
//! Each row is a process of its own on the best adapter. The first test has no kernels, and keeps none. `warm_up` then
//! compiles the kernels of all casts. Drivers that compile a kernel when it first runs, such as llvmpipe, do most of
//! that work in the next test. The last test compiles nothing. Processor time is that of all threads, the driver's too,
//! in hundredths of a second. Memory is the most that the process had resident so far, in MiB, and what it had before.
//! On systems other than Linux, all these figures are 0. llvmpipe keeps compiled kernels on the disk; the command below
//! disables that, so that the figures are those of a first run.
//!
//! ```sh
//! MESA_SHADER_CACHE_DISABLE=true cargo bench --bench self_test
//! ```

#![allow(missing_docs, reason = "a program")]

use std::process::Command;
use std::time::Instant;

use wgpu_cast::{CastSpec, Context, Coverage, DeviceChoice, ElementType};

const CHILD: &str = "WGPU_CAST_BENCH_COVERAGE";
const ALL: [Coverage; 4] = [Coverage::Aligned, Coverage::Anywhere, Coverage::OneBuffer, Coverage::Views];

/// A number of the file `/proc/self/status`, in MiB.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// The time on processors so far, in hundredths of a second.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may have spaces; the times are the twelfth and the thirteenth number after it.
    let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    numbers.take(2).filter_map(|number| number.parse::<u64>().ok()).sum()
}

fn measure(coverage: Coverage) {
    use ElementType::{BFLOAT16, FLOAT, FLOAT8E4M3FN, FLOAT16, INT8, INT64};
    let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter");
    let (Some(caster), Some(queue)) = (context.caster(), context.queue()) else {
        unreachable!("the context has a device");
    };
    let types = [FLOAT, FLOAT16, BFLOAT16, FLOAT8E4M3FN, INT8, INT64];
    let pairs = types.iter().flat_map(|&from| types.iter().map(move |&to| (from, to)));
    let specs: Vec<_> = pairs.filter(|(from, to)| from != to).map(|(from, to)| CastSpec::new(from, to)).collect();
    let timed = |name: &str, work: &dyn Fn()| {
        let (start, before) = (Instant::now(), processor_time());
        work();
        let used = processor_time() - before;
        print!(" | {name} {:.2} s, {}.{:02} s of processors", start.elapsed().as_secs_f64(), used / 100, used % 100);
    };
    let before = memory("VmRSS");
    print!("{coverage:?}");
    timed("self_test", &|| {
        let report = pollster::block_on(caster.self_test(queue, &specs, coverage)).expect("a device");
        assert_eq!(report.into_result(), Ok(()));
    });
    print!(", {} MiB of which {before} before", memory("VmHWM"));
    timed("warm_up", &|| caster.warm_up(&specs, coverage).expect("kernels"));
    print!(", {} MiB", memory("VmHWM"));
    timed("self_test of those", &|| drop(pollster::block_on(caster.self_test(queue, &specs, coverage))));
    timed("again", &|| drop(pollster::block_on(caster.self_test(queue, &specs, coverage))));
    println!();
}

fn main() {
    if let Ok(index) = std::env::var(CHILD) {
        return measure(ALL[index.parse::<usize>().expect("an index")]);
    }
    let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter");
    println!("30 casts on {:?}", context.adapter_info());
    drop(context);
    let program = std::env::current_exe().expect("the path of this program");
    for index in 0..ALL.len() {
        let status = Command::new(&program).env(CHILD, index.to_string()).status().expect("a process");
        assert!(status.success(), "{status}");
    }
}

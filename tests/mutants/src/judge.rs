//! Lets tests judge the changes.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::build::{Mutants, Program};

/// A test, how long it takes, and which changes it meets.
#[derive(Debug)]
struct Test<'a> {
    program: &'a Path,
    name: &'a str,
    time: Duration,
    met: HashSet<u32>,
}

/// How long the tests of a change take together, at most.
const MOST: Duration = Duration::from_secs(30);

const NOT_NOTICED: &str = "not noticed";
const NOT_MET: &str = "not met";

/// Judges all changes and writes a line for each to the file of results. Changes that it has are not judged again.
/// Returns whether all are noticed but for the known ones.
pub fn judge(copy: &Path, results: &Path, mutants: &Mutants, programs: &[Program]) -> Result<bool, Box<dyn Error>> {
    let known = fs::read_to_string(results).unwrap_or_default();
    let known: HashSet<&str> = known.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name).collect();
    let output = Mutex::new(OpenOptions::new().create(true).append(true).open(results)?);
    let write = |verdict: &str, name: &str| {
        let mut output = output.lock().expect("no panic while it is locked");
        writeln!(output, "{verdict}\t{name}").expect("results can be written");
    };
    let mut all = Vec::<(&Path, &str)>::new();
    for program in programs {
        all.extend(program.tests.iter().map(|test| (&*program.path, &**test)));
    }
    let folder = copy.join("target/met");
    fs::create_dir_all(&folder)?;
    let recorded =
        in_parallel(&all, |index, &(program, name)| record(copy, &folder.join(index.to_string()), program, name));
    let mut tests: Vec<Test<'_>> = recorded.into_iter().flatten().collect();
    tests.sort_by_key(|test| test.time);
    let time: Duration = tests.iter().map(|test| test.time).sum();
    eprintln!("{} of {} tests judge, which take {} s together", tests.len(), all.len(), time.as_secs());
    let left: Vec<(&u32, &String)> = mutants.names.iter().filter(|(_, name)| !known.contains(&***name)).collect();
    in_parallel(&left, |_, &(id, name)| {
        let verdict = if mutants.refused.contains(id) {
            "does not compile"
        } else if !mutants.woven.contains(id) {
            "constant"
        } else {
            verdict(copy, *id, &tests)
        };
        write(verdict, name);
    });
    summary(results, &copy.join("tests/mutants/unnoticed.txt"))
}

/// Runs work on each item, on as many threads as there are cores.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(index, item);
                    done.lock().expect("no panic while it is locked").push(result);
                }
            });
        }
    });
    done.into_inner().expect("no panic while it was locked")
}

/// Runs a test alone. One that fails without any change, or takes longer than all tests of a change may, judges none.
fn record<'a>(copy: &Path, met: &Path, program: &'a Path, name: &'a str) -> Option<Test<'a>> {
    drop(fs::remove_file(met));
    let started = Instant::now();
    let is_passed = run(copy, program, &[name], "MUTANTS_MET", &met.to_string_lossy(), MOST);
    if !is_passed {
        eprintln!("left out, because it fails without any change or takes too long: {name}");
        return None;
    }
    let bytes = fs::read(met).unwrap_or_default();
    let met = bytes.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]])).collect();
    Some(Test { program, name, time: started.elapsed(), met })
}

/// Runs the quickest tests that meet a change, in groups that take longer and longer.
fn verdict(copy: &Path, id: u32, tests: &[Test<'_>]) -> &'static str {
    let mut all = Duration::ZERO;
    let is_soon = |test: &&Test<'_>| {
        let is_first = all.is_zero();
        all += test.time;
        is_first || all <= MOST
    };
    let mut left: Vec<&Test<'_>> = tests.iter().filter(|test| test.met.contains(&id)).take_while(is_soon).collect();
    if left.is_empty() {
        return NOT_MET;
    }
    let mut budget = Duration::from_millis(100);
    left.reverse();
    while !left.is_empty() {
        let mut groups = BTreeMap::<&Path, (Vec<&str>, Duration)>::new();
        let mut taken = Duration::ZERO;
        while let Some(test) = left.pop_if(|test| taken.is_zero() || taken + test.time <= budget) {
            let (names, time) = groups.entry(test.program).or_default();
            names.push(test.name);
            *time += test.time;
            taken += test.time;
        }
        for (program, (names, time)) in groups {
            if !run(copy, program, &names, "MUTANT", &id.to_string(), time * 10 + Duration::from_secs(10)) {
                return "noticed";
            }
        }
        budget *= 2;
    }
    NOT_NOTICED
}

/// Whether tests pass.
fn run(copy: &Path, program: &Path, tests: &[&str], variable: &str, value: &str, most: Duration) -> bool {
    let started = Instant::now();
    let child = Command::new(program)
        .args(["--exact", "--test-threads=1"])
        .args(tests)
        .current_dir(copy)
        .env("CARGO_MANIFEST_DIR", copy)
        .env(variable, value)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.expect("test programs can be started");
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            return status.success();
        }
        if started.elapsed() > most {
            drop(child.kill());
            drop(child.wait());
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Prints how many changes got which verdict, and those that no test notices but for the known ones. Returns whether there
/// are none.
fn summary(results: &Path, known: &Path) -> Result<bool, Box<dyn Error>> {
    let text = fs::read_to_string(results)?;
    let mut left = BTreeMap::<String, usize>::new();
    for line in fs::read_to_string(known)?.lines().filter(|line| !line.starts_with('#')) {
        *left.entry(line.to_owned()).or_default() += 1;
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut found = 0;
    for (verdict, name) in text.lines().filter_map(|line| line.split_once('\t')) {
        *counts.entry(verdict).or_default() += 1;
        if !matches!(verdict, NOT_NOTICED | NOT_MET) {
            continue;
        }
        match left.get_mut(&without_place(name)) {
            Some(count @ 1..) => *count -= 1,
            _ => {
                println!("{verdict}: {name}");
                found += 1;
            }
        }
    }
    let is_judged = |line: &str| {
        let file = line.split(':').next().unwrap_or_default();
        text.lines().any(|result| result.split_once('\t').is_some_and(|(_, name)| name.split(':').next() == Some(file)))
    };
    for (line, _) in left.iter().filter(|(line, count)| **count > 0 && is_judged(line)) {
        println!("in unnoticed.txt, but noticed now: {line}");
    }
    for (verdict, count) in &counts {
        println!("{count} {verdict}");
    }
    println!("{found} that no test notices are not in unnoticed.txt");
    Ok(found == 0)
}

/// The name of a change without its line and column.
fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    format!("{file}:{}", parts.nth(2).unwrap_or_default())
}

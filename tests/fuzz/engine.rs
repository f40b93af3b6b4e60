//! The fuzzing loop: mutates an input, checks it, and keeps it if its outcome is new.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::mutate;
use support::random::{Random, RandomRun};

/// An input that takes so long hangs. Miri takes some hundred times as long.
const HANGS: Duration = Duration::from_secs(if cfg!(miri) { 600 } else { 20 });

/// Inputs kept to mutate further.
const KEPT: usize = 4096;

/// Makes the test of a target.
macro_rules! target {
    ($name:ident: $check:path, corpus $corpus:literal, iterations $full:literal $few:literal, structured $structured:literal, longest $longest:expr) => {
        #[test]
        fn $name() {
            $crate::engine::Target {
                name: stringify!($name),
                corpus: $corpus,
                check: $check,
                iterations: support::tier::count($full, $few),
                structured: $structured,
                longest: $longest,
            }
            .run();
        }
    };
}

pub struct Target {
    pub name: &'static str,
    /// The folder below `tests/fuzz/corpus` of the package.
    pub corpus: &'static str,
    /// Panics where the input breaks something; otherwise says what came of it, in words without the input's own.
    pub check: fn(&[u8]) -> String,
    /// Mutations in a normal test run.
    pub iterations: usize,
    /// Whether inputs are protobuf messages.
    pub structured: bool,
    /// The longest input.
    pub longest: usize,
}

/// Fails where checking takes more memory than the input's length explains.
pub fn within_memory<T>(length: usize, work: impl FnOnce() -> T) -> T {
    let mut result = None;
    let peak = allocation_counter::measure(|| result = Some(work())).bytes_max;
    assert!(peak <= 64 * length as u64 + (1 << 20), "{peak} bytes of memory for an input of {length}");
    result.expect("measuring runs it")
}

/// The letters of a text but for those that it quotes.
pub fn gist(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let plain = |c: &char| {
        let ends = *c == '"' && !escaped;
        quoted ^= ends;
        escaped = *c == '\\' && !escaped;
        !quoted && c.is_alphabetic()
    };
    text.chars().filter(plain).collect()
}

impl Target {
    pub fn run(&self) {
        let RandomRun { time, seed } = RandomRun::chosen();
        let mut random = Random::new(seed);
        let watch = Watch::new(self.name);
        let mut corpus = self.corpus();
        let mut seen = HashSet::new();
        for input in &corpus {
            seen.insert(self.case(&watch, input));
        }
        let (seeds, start) = (corpus.len(), Instant::now());
        let mut done = 0;
        while time.map_or(done < self.iterations, |time| start.elapsed() < time) {
            // Each from the corpus, the latest find or any.
            let from = match random.below(4) {
                0 => random.below(seeds),
                1 => corpus.len() - 1 - random.below(corpus.len().min(16)),
                _ => random.below(corpus.len()),
            };
            let mut input = mutate::input(&mut random, &corpus[from], &corpus, self.structured);
            input.truncate(self.longest);
            if seen.insert(self.case(&watch, &input)) && corpus.len() < KEPT {
                corpus.push(input);
            }
            done += 1;
        }
        let (rate, outcomes) = (done as f64 / start.elapsed().as_secs_f64(), seen.len());
        println!("{}: seed {seed}, {done} inputs, {rate:.0} a second, {outcomes} different outcomes", self.name);
    }

    /// The files of the corpus: text by its lines, others whole.
    fn corpus(&self) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(self.corpus);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        let read = |file: &PathBuf| {
            let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let text = file.extension().is_some_and(|extension| extension == "txt");
            if text { bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() } else { vec![bytes] }
        };
        files.iter().flat_map(read).collect()
    }

    /// Checks one input, and gives a hash of what came of it.
    fn case(&self, watch: &Watch, input: &[u8]) -> u64 {
        watch.starts(input);
        let result = catch_unwind(|| (self.check)(input));
        watch.ends();
        match result {
            Ok(outcome) => {
                let mut hasher = DefaultHasher::new();
                outcome.hash(&mut hasher);
                hasher.finish()
            }
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                panic!("{}", report(self.name, input, text));
            }
        }
    }
}

/// Leaves the input in a file, and says what is wrong with it.
fn report(target: &str, input: &[u8], what: &str) -> String {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let file = std::env::temp_dir().join(format!("cast-fuzz-{target}-{:016x}", hasher.finish()));
    let written = fs::write(&file, input).map_or_else(|error| error.to_string(), |()| file.display().to_string());
    let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("target {target}: {what}\ninput: {hex}\nfile: {written}")
}

/// Since when which input is checked.
type Current = Mutex<Option<(Instant, Vec<u8>)>>;

/// Ends the process when an input hangs, which nothing within its thread can.
struct Watch {
    current: Arc<Current>,
    _running: mpsc::Sender<()>,
}

impl Watch {
    fn new(target: &'static str) -> Self {
        let current = Arc::new(Current::default());
        let (sender, ended) = mpsc::channel::<()>();
        let watched = current.clone();
        std::thread::spawn(move || {
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let current = watched.lock().expect("no panic while it is held");
                if let Some((start, input)) = current.as_ref().filter(|(start, _)| start.elapsed() > HANGS) {
                    eprintln!("{}", report(target, input, &format!("no answer after {:?}", start.elapsed())));
                    std::process::abort();
                }
            }
        });
        Self { current, _running: sender }
    }

    fn starts(&self, input: &[u8]) {
        *self.current.lock().expect("no panic while it is held") = Some((Instant::now(), input.to_vec()));
    }

    fn ends(&self) {
        *self.current.lock().expect("no panic while it is held") = None;
    }
}

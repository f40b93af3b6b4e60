//! Casts of bytes, against the independent oracle.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rayon::ThreadPoolBuilder;
use support::options::variants;
use support::oracle::Oracle;
use support::{numeric, oracle};
use wgpu_cast::{CastOptions, CastSpec, ElementType, Tensor, cpu};

thread_local! {
    /// The oracles of the casts that were met: some list every number of a type when they are made.
    static ORACLES: RefCell<HashMap<(ElementType, ElementType, String), Rc<Oracle>>> = RefCell::default();
}

/// What the first bytes of an input say; the others are the source.
struct Asked<'a> {
    from: ElementType,
    to: ElementType,
    options: CastOptions,
    /// The function and its threads.
    how: u8,
    /// Where the source starts in its memory, and the result in its own: at any byte.
    starts: [usize; 2],
    source: &'a [u8],
}

impl<'a> Asked<'a> {
    fn of(input: &'a [u8]) -> Option<Self> {
        let (&[from, to, options, how, source_start, start], source) = input.split_first_chunk()?;
        let types: Vec<_> = numeric().collect();
        let [from, to] = [from, to].map(|byte| types[usize::from(byte) % types.len()]);
        let all = variants(to);
        let options = all[usize::from(options) % all.len()];
        Some(Self { from, to, options, how, starts: [source_start, start].map(|byte| usize::from(byte % 67)), source })
    }
}

pub fn check(input: &[u8]) -> String {
    let Some(Asked { from, to, options, how, starts, source }) = Asked::of(input) else { return "short".to_owned() };
    let bits = from.bits().expect("a width") as usize;
    // Only tensors of about 131,000 elements use threads: the source is repeated. In Miri one of them takes minutes.
    let times =
        if how & 8 == 0 || source.is_empty() || cfg!(miri) { 1 } else { (140_000 * bits / 8).div_ceil(source.len()) };
    let len = source.len() * times * 8 / bits;
    let bytes = |t: ElementType| t.packed_bytes(len as u64).expect("a short tensor") as usize;
    let mut memory = vec![0x5a; starts[0]];
    (0..times).for_each(|_| memory.extend(source));
    memory.truncate(starts[0] + bytes(from));
    let source = &memory[starts[0]..];
    let mut result = vec![0xa5; starts[1] + bytes(to) + 64];
    let end = starts[1] + bytes(to);
    let spec = CastSpec::new(from, to).with_options(options);
    let cast = || {
        let destination = &mut result[starts[1]..end];
        match how % 4 {
            0 => cpu::cast_bytes(&spec, source, len, destination),
            1 => cpu::cast_counted(&spec, source, len, destination).map(drop),
            2 => cpu::on_this_thread(|| cpu::cast_bytes(&spec, source, len, destination)),
            _ => Tensor::from_bytes(from, [len], source.to_vec())
                .and_then(|tensor| cpu::cast_into(&tensor, to, &options, destination)),
        }
    };
    let threads = 1 + usize::from(how >> 4) % 4;
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(cast).expect("the sizes are right");
    assert!(
        result[..starts[1]].iter().chain(&result[end..]).all(|&byte| byte == 0xa5),
        "written outside of the result"
    );
    let oracle = ORACLES.with_borrow_mut(|oracles| {
        let entry = oracles.entry((from, to, format!("{options:?}")));
        entry.or_insert_with(|| Rc::new(oracle(from, to, &options))).clone()
    });
    let source = Tensor::from_bytes(from, [len], source.to_vec()).expect("whole elements");
    let got = Tensor::from_bytes(to, [len], result[starts[1]..end].to_vec()).expect("whole elements");
    // The oracle takes longer than the cast.
    let step = if times == 1 { 1 } else { 61 };
    for (index, (code, got)) in source.codes().zip(got.codes()).enumerate().step_by(step) {
        let expected = oracle.expected(code);
        assert_eq!(got, expected, "{from} {code:#x} to {to}, {options:?}, element {index} of {len}, {how:#x}");
    }
    format!("{from} {to} {} {times}", how % 4)
}

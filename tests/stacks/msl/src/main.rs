//! Writes plans of casts from the types that are named, or from all numeric types, into a folder, with their kernels in Metal's
//! language, for a C++ compiler: for each source type FROM.cpp (the kernels), FROM.txt (the dispatches) and FROM.bin (the bytes of
//! the buffers before the casts and after them).
//!
//! With `--fault` one constant of one kernel is wrong: the comparison must notice.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use support::numeric;
use support::planned::{PlannedCast, SourceCodes};
use support::translate::{Format, translate};
use wgpu_cast::{ElementType, Plan, Side};

/// The constant that `--fault` changes, and its value in the kernels of FLOAT to FLOAT16.
const FAULT: [&str; 2] = ["constant uint DST_OVERFLOW = 31744u;", "constant uint DST_OVERFLOW = 31743u;"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("the folder is missing")?;
    let (faults, types): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument == "--fault");
    let types = types.iter().map(|name| name.parse()).collect::<Result<Vec<ElementType>, _>>()?;
    let types = if types.is_empty() { numeric().collect() } else { types };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for from in types {
        let codes = SourceCodes::new(from);
        let mut source = Source::default();
        for to in numeric() {
            for (variant, cast) in codes.casts(to) {
                source.add(&format!("{from}->{to},{variant}"), &cast, !faults.is_empty())?;
            }
        }
        let path = folder.join(from.name());
        std::fs::write(path.with_extension("bin"), source.data)?;
        std::fs::write(path.with_extension("txt"), source.plans)?;
        std::fs::write(path.with_extension("cpp"), format!("{}\n{}", source.kernels, table(source.known.len())))?;
    }
    Ok(())
}

/// All casts from one type.
#[derive(Default)]
struct Source {
    kernels: String,
    plans: String,
    data: Vec<u8>,
    /// The number of each kernel, by its WGSL.
    known: HashMap<String, usize>,
}

impl Source {
    fn add(&mut self, name: &str, cast: &PlannedCast, fault: bool) -> Result<(), Box<dyn Error>> {
        let kernels = self.kernels(&cast.plan, fault)?;
        let [start, expected] = [cast.before.concat(), cast.after.clone()].map(|bytes| self.append(&bytes));
        let sizes: Vec<_> = cast.before.iter().map(|bytes| bytes.len().to_string()).collect();
        let dispatches = cast.plan.dispatches();
        let (buffers, count) = (sizes.len(), dispatches.len());
        writeln!(self.plans, "{name} {start} {expected} {buffers} {} {count}", sizes.join(" "))?;
        for dispatch in dispatches {
            let bindings: Vec<_> = dispatch.bindings().collect();
            let [x, y, z] = dispatch.workgroups();
            let parameters = dispatch.parameters();
            write!(self.plans, "{} {x} {y} {z} {}", kernels[dispatch.kernel()], parameters.len())?;
            parameters.iter().try_for_each(|byte| write!(self.plans, " {byte}"))?;
            write!(self.plans, " {}", bindings.len())?;
            for bound in bindings {
                let buffer = match bound.side {
                    Side::Source => 0,
                    Side::Destination => buffers - 1,
                };
                write!(self.plans, " {} {buffer} {}", bound.binding, bound.offset)?;
            }
            writeln!(self.plans)?;
        }
        Ok(())
    }

    /// The numbers of a plan's kernels. New ones are translated.
    fn kernels(&mut self, plan: &Plan, fault: bool) -> Result<Vec<usize>, Box<dyn Error>> {
        let mut numbers = Vec::new();
        for kernel in plan.kernels() {
            let wgsl = kernel.wgsl();
            let next = self.known.len();
            let number = *self.known.entry(wgsl.to_owned()).or_insert(next);
            if number == next {
                let mut msl = String::from_utf8(translate(wgsl, Format::Msl)?)?;
                if fault && wgsl.contains("// from: float\n// to: float16\n") {
                    msl = msl.replace(FAULT[0], FAULT[1]);
                }
                self.kernels += &function(number, &msl);
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn append(&mut self, bytes: &[u8]) -> usize {
        let start = self.data.len();
        self.data.extend_from_slice(bytes);
        start
    }
}

/// A kernel in a namespace, and the function that calls it for one lane.
fn function(number: usize, msl: &str) -> String {
    let text = msl.lines().filter(|line| !line.starts_with("#include"));
    let text: Vec<_> = text.collect();
    let text = text.join("\n");
    let (_, entry) = text.split_once("kernel void main_(").expect("naga's entry point");
    let (parameters, _) = entry.split_once(") {").expect("its body");
    let (before, _) = text.split_once("kernel void main_(").expect("naga's entry point");
    let threads = before.rsplit_once("max_total_threads_per_threadgroup(").expect("the size of a workgroup").1;
    let threads = threads.split_once(')').expect("a number").0;
    let mut memory = String::new();
    let arguments = parameters.split("\n,").map(|parameter| {
        let words: Vec<_> = parameter.split_whitespace().collect();
        let of = |attribute: &str| parameter.contains(attribute);
        if of("[[threadgroup_position_in_grid]]") {
            return "group".to_owned();
        }
        if of("[[thread_position_in_threadgroup]]") {
            return "metal::uint3(lane, 0, 0)".to_owned();
        }
        // `device TYPE const& source`, `device TYPE& destination`, `constant TYPE& params`.
        let name = words[1].trim_end_matches('&');
        if words[0] == "threadgroup" {
            memory += &format!("static {name} shared;\n");
            return "shared".to_owned();
        }
        let number = parameter.split("[[buffer(").nth(1).and_then(|rest| rest.split(')').next()).expect("a buffer");
        format!("*({name}*)buffers[{number}]")
    });
    let arguments: Vec<_> = arguments.collect();
    let has_barrier = text.contains("threadgroup_barrier");
    let arguments = arguments.join(", ");
    format!(
        "namespace kernel{number} {{\n{text}\n{memory}static void call(metal::uint3 group, uint lane, uint8_t** buffers) {{\n    \
         main_({arguments});\n}}\nstatic const uint threads = {threads};\nstatic const bool \
         has_barrier = {has_barrier};\n}}\n"
    )
}

/// The kernels, by number.
fn table(count: usize) -> String {
    let rows = (0..count)
        .map(|number| format!("    {{kernel{number}::call, kernel{number}::threads, kernel{number}::has_barrier}},\n"));
    format!("const Kernel KERNELS[] = {{\n{}}};\n", rows.collect::<String>())
}

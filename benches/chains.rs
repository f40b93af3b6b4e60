//! Batches that cast a host tensor several times: on the best adapter and on the CPU, and the size from which the
//! adapter is faster. For `DeviceChoice::Auto` that size is `GPU_FROM_BYTES` in `src/host/context.rs`.
//!
//! Prints JSON, an object a line: what was measured on, then, for each chain, its sizes with the seconds of both. The
//! last figure of a chain is the number of bytes read and written from which the adapter is faster at every size. Every
//! figure is the median of seven runs after two. `--most N`: elements of the largest tensor, 64 Mi by default. Each
//! other tensor has a fourth of the elements of the next larger one, down to 4 Ki.

#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use support::arguments::Arguments;
use wgpu_cast::{BatchDescriptor, CastOptions, Context, DeviceChoice, ElementType, Error, Tensor};

const WARM_UPS: usize = 2;
const RUNS: usize = 7;
const CHAINS: [&[ElementType]; 3] = [
    &[ElementType::FLOAT, ElementType::FLOAT16, ElementType::FLOAT],
    &[ElementType::FLOAT, ElementType::BFLOAT16, ElementType::FLOAT8E4M3FN, ElementType::FLOAT],
    // A chain that computes much and moves little.
    &[
        ElementType::FLOAT8E4M3FN,
        ElementType::FLOAT,
        ElementType::FLOAT16,
        ElementType::FLOAT,
        ElementType::BFLOAT16,
        ElementType::FLOAT,
        ElementType::FLOAT8E4M3FN,
    ],
];

fn main() {
    let mut arguments = Arguments::of_process();
    let most = arguments.value("--most").unwrap_or(1 << 26);
    arguments.end();
    let [gpu, cpu] = [DeviceChoice::Gpu, DeviceChoice::Cpu].map(|choice| {
        let opened = pollster::block_on(Context::open(choice));
        opened.expect("an adapter")
    });
    let adapter = gpu.adapter_info().map(|info| format!("{} ({})", info.name, info.backend));
    let adapter = adapter.map_or("null".to_owned(), |name| format!("{name:?}"));
    println!(r#"{{"adapter": {adapter}, "threads": {}, "runs": {RUNS}}}"#, rayon::current_num_threads());
    for types in CHAINS {
        let chain = types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" > ");
        let mut faster_from = None;
        let sizes = std::iter::successors(Some(1 << 12), |n| Some(4 * n)).take_while(|&n| n <= most);
        for elements in sizes {
            let packed = |t: &ElementType| t.packed_bytes(elements as u64).expect("a size");
            let bytes: u64 = types.windows(2).flatten().map(packed).sum();
            let source =
                (0..packed(&types[0])).map(|i| (i as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect();
            let tensor = Tensor::from_bytes(types[0], [elements], source).expect("a tensor");
            let [on_gpu, on_cpu] = seconds([&gpu, &cpu], types, bytes, &tensor);
            faster_from = if on_gpu < on_cpu { faster_from.or(Some(bytes)) } else { None };
            println!(
                r#"{{"chain": "{chain}", "elements": {elements}, "bytes": {bytes}, "gpu": {on_gpu}, "cpu": {on_cpu}}}"#
            );
        }
        let faster_from = faster_from.map_or("null".to_owned(), |bytes| bytes.to_string());
        println!(r#"{{"chain": "{chain}", "gpu_faster_from_bytes": {faster_from}}}"#);
    }
}

/// Casts to each of the types after the first. Only the last result is read back.
async fn cast(context: &Context, types: &[ElementType], bytes: u64, tensor: Tensor) -> Result<Vec<Tensor>, Error> {
    let mut batch = context.batch(&BatchDescriptor { casts: types.len() - 1, bytes, is_chain: true });
    let mut last = batch.insert(tensor);
    for &to in &types[1..] {
        last = batch.cast(&last, to, &CastOptions::default()).await?;
    }
    batch.read_back(&[&last]).await
}

/// The chain's medians in both contexts. The contexts take turns, so that other load on the machine affects both.
fn seconds(contexts: [&Context; 2], types: &[ElementType], bytes: u64, tensor: &Tensor) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for run in 0..WARM_UPS + RUNS {
        for (context, times) in contexts.iter().zip(&mut times) {
            let source = tensor.clone();
            let start = Instant::now();
            let outputs = pollster::block_on(cast(context, types, bytes, source)).expect("casts");
            let time = start.elapsed().as_secs_f64();
            drop(outputs);
            if run >= WARM_UPS {
                times.push(time);
            }
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    })
}

//! The casts of a model whose tensors lie in one large buffer: the number of dispatches and of parameter buffers.

use support::buffers::{buffer, own_device, read};
use support::random::Random;
use wgpu_cast::wgpu::PollType;
use wgpu_cast::{
    Bound, CastOptions, CastSpec, Caster, CasterDescriptor, Destination, ElementType, PlanTuning, Source, Tensor, cpu,
};

const POOL: u64 = 24 << 20;
const NODES: usize = 200;

/// A node that casts `len` elements from byte `source` of the pool to byte `destination`.
struct Node {
    from: ElementType,
    to: ElementType,
    len: u64,
    source: u64,
    destination: u64,
}

impl Node {
    fn bytes(&self) -> [u64; 2] {
        [self.from, self.to].map(|t| t.packed_bytes(self.len).unwrap())
    }
}

/// Nodes with tensors of all sizes, which an allocator places one after the other at multiples of `alignment`.
fn nodes(alignment: u64) -> Vec<Node> {
    use ElementType::{BFLOAT16, FLOAT, FLOAT8E4M3FN, FLOAT16, INT4, INT8, INT32};
    let pairs =
        [(FLOAT, FLOAT16), (FLOAT16, FLOAT), (FLOAT, BFLOAT16), (INT8, FLOAT), (INT32, INT4), (FLOAT8E4M3FN, FLOAT16)];
    let (mut random, mut end) = (Random::new(1), 0);
    let mut place = |bytes: u64| {
        let start = end;
        end = (start + bytes).next_multiple_of(alignment);
        assert!(end <= POOL);
        start
    };
    (0..NODES)
        .map(|_| {
            let (from, to) = *random.pick(&pairs);
            let magnitude = 11 + random.below(7);
            let len = 1 + random.below(1 << magnitude) as u64;
            let [source, destination] = [from, to].map(|t| place(t.packed_bytes(len).unwrap()));
            Node { from, to, len, source, destination }
        })
        .collect()
}

/// Binds and casts all nodes, compares the whole pool, and returns the numbers of dispatches and of buffers with their
/// parameters.
fn run(alignment: u64) -> [usize; 2] {
    let (device, queue) = own_device();
    // The tuning of GPUs, whatever the adapter is: with that of software adapters, the edge kernel alone casts even
    // larger tensors, in one dispatch.
    let descriptor = CasterDescriptor { tuning: Some(PlanTuning::default()), ..Default::default() };
    let caster = Caster::with_descriptor(&device, &descriptor);
    let (pool, nodes) = (buffer(&device, POOL), nodes(alignment));
    let mut random = Random::new(2);
    let mut memory: Vec<u8> = (0..POOL / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    queue.write_buffer(&pool, 0, &memory);
    queue.submit([]);
    device.poll(PollType::wait_indefinitely()).unwrap();
    let buffers = || device.get_internal_counters().hal.buffers.read() as usize;
    let slice = |start: u64, bytes: u64| pool.slice(start..start + bytes);
    let before = buffers();
    let bind = |node: &Node| -> Bound {
        let [source, destination] = node.bytes();
        let prepared = caster.prepare(&CastSpec::new(node.from, node.to), node.len).unwrap();
        let source = Source::whole(slice(node.source, source));
        prepared.bind(source, Destination::whole(slice(node.destination, destination))).unwrap()
    };
    let bounds: Vec<Bound> = nodes.iter().map(bind).collect();
    // Half of the new buffers are those by which wgpu fills the others.
    let counts = [bounds.iter().map(|bound| bound.dispatches().len()).sum(), (buffers() - before) / 2];
    let mut encoder = device.create_command_encoder(&Default::default());
    bounds.iter().for_each(|bound| bound.record(&mut encoder));
    let got = read(&device, &queue, encoder, &pool);
    for node in &nodes {
        let [source, destination] = node.bytes();
        let bytes = memory[node.source as usize..][..source as usize].to_vec();
        let tensor = Tensor::from_bytes(node.from, [node.len as usize], bytes).unwrap();
        let expected = cpu::cast(&tensor, node.to, &CastOptions::default()).unwrap().into_bytes().unwrap();
        memory[node.destination as usize..][..destination as usize].copy_from_slice(&expected);
    }
    let wrong = (0..memory.len()).find(|&byte| got[byte] != memory[byte]);
    assert_eq!(wrong, None, "alignment {alignment}: the first wrong byte");
    counts
}

#[test]
fn a_model_in_a_pool_takes_few_dispatches_and_buffers() {
    for (alignment, expected) in [(4, [323, 11]), (16, [315, 10]), (256, [315, 10])] {
        assert_eq!(run(alignment), expected, "alignment {alignment}");
    }
}

//! Large graphs, and what memory a message takes at most.

use std::time::Instant;

use ElementType::*;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::{self, Model, NamedTensor};

use crate::models::*;
use crate::wire::*;

/// The most memory that reading takes, for each byte read.
fn amplification(what: &str, bytes: Vec<u8>, read: impl FnOnce(Vec<u8>) -> bool) -> f64 {
    let (length, mut fine) = (bytes.len(), false);
    let peak = allocation_counter::measure(|| fine = read(bytes)).bytes_max;
    assert!(fine, "{what}");
    let times = peak as f64 / length as f64;
    println!("{what}: {times:.1} times its {length} bytes");
    times
}

fn of_tensor(what: &str, message: &Message) -> f64 {
    amplification(what, message.0.clone(), |bytes| NamedTensor::from_bytes(bytes, None).is_ok())
}

fn of_model(what: &str, parts: &[Message]) -> f64 {
    amplification(what, model(28, parts).0, |bytes| Model::from_bytes(&bytes, None).is_ok())
}

fn name(index: usize) -> String {
    format!("{index:x}")
}

#[test]
fn a_chain_of_20_000_nodes() {
    let types = [FLOAT16, FLOAT];
    let casts = (0..20_000).map(|index| cast(&name(index), &name(index + 1), types[index % 2]));
    let ends = [input("0", FLOAT), output(&name(20_000), FLOAT)];
    for backwards in [false, true] {
        let mut parts: Vec<_> = casts.clone().chain(ends.clone()).collect();
        if backwards {
            parts.reverse();
        }
        let start = Instant::now();
        let model = newest(&parts);
        let read = start.elapsed();
        let tensor = Tensor::from_slice([2], &[1.0f32, 2.5]).unwrap();
        let (outputs, report) = pollster::block_on(onnx::run(&on_cpu(), &model, vec![tensor.clone()])).unwrap();
        println!("backwards: {backwards}; read in {read:?}, run in {:?}", start.elapsed() - read);
        assert_eq!((&outputs[0].tensor, report.nodes), (&tensor, 20_000));
    }
}

#[test]
fn a_graph_of_100_000_inputs_and_a_node_of_as_many() {
    let inputs: Vec<_> = (0..100_000).map(|index| input(&name(index), UINT8)).collect();
    let start = Instant::now();
    let model = newest(&[&inputs[..], &[output(&name(99_999), UINT8)]].concat());
    let read = start.elapsed();
    let given = (0..100_000).map(|index| Tensor::from_slice([], &[index as u8]).unwrap()).collect();
    let (outputs, _) = pollster::block_on(onnx::run(&on_cpu(), &model, given)).unwrap();
    println!("read in {read:?}, run in {:?}", start.elapsed() - read);
    assert_eq!(outputs[0].tensor.to_vec::<u8>().unwrap(), [159]);
    let names: Vec<_> = (0..100_000).map(name).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let node = node("Cast", &names, &["y"]).part();
    assert!(text(28, &[node]).ends_with("expected 1 input, got 100000"));
}

/// Messages made to take as much as they can. Growing vectors are held twice for a moment.
#[test]
fn reading_takes_memory_in_proportion_to_the_message() {
    const COUNT: usize = (1 << 16) + 1;
    let count = COUNT as i64;
    let all = |field: u64, bytes: &[u8]| message().bytes(field, bytes).0.repeat(COUNT);
    let dims = tensor(2, &[]).packed(DIMS, &[1; COUNT]).bytes(RAW_DATA, [1]).0;
    let empty_strings = tensor(8, &[count]).raw(all(STRING_DATA, b""));
    let float_values = tensor(11, &[count]).bytes(DOUBLE_DATA, vec![0; 8 * COUNT]);
    let mut times = vec![
        amplification("dims", dims, |bytes| NamedTensor::from_bytes(bytes, None).is_err()),
        of_tensor("strings", &empty_strings),
        of_tensor("int32_data", &tensor(2, &[count]).packed(INT32_DATA, &[1; COUNT])),
        of_tensor("int64_data", &tensor(7, &[count]).packed(INT64_DATA, &[1; COUNT])),
        of_tensor("double_data", &float_values),
        of_tensor("raw_data", &tensor(2, &[count]).bytes(RAW_DATA, [1; COUNT])),
    ];
    let names: Vec<_> = (0..COUNT).map(name).collect();
    let inputs: Vec<_> = names.iter().map(|name| input(name, UINT8)).collect();
    let outputs = message().bytes(12, message().bytes(1, "x")).0.repeat(COUNT);
    let initializers: Vec<_> = names
        .iter()
        .map(|name| message().bytes(5, message().int(DIMS, 0).int(DATA_TYPE, 2).bytes(NAME, name)))
        .collect();
    let identities: Vec<_> = names.iter().map(|name| identity("x", name)).collect();
    let chain: Vec<_> = names.windows(2).map(|pair| identity(&pair[0], &pair[1])).collect();
    let casts: Vec<_> = names.iter().map(|name| cast("x", name, INT8)).collect();
    let constant = |name: &String| node("Constant", &[], &[name]).with(attribute("value_ints", 7)).part();
    let constants: Vec<_> = names.iter().map(constant).collect();
    let ints = node("Constant", &[], &["y"]).with(attribute("value_ints", 7).packed(8, &[1; COUNT])).part();
    let strings = node("Constant", &[], &["y"]).with(attribute("value_strings", 8).raw(all(9, b""))).part();
    let x = [input("x", UINT8)];
    times.extend([
        of_model("inputs", &inputs),
        of_model("outputs", &[x[0].clone(), message().raw(outputs)]),
        of_model("initializers", &initializers),
        of_model("identities", &[&x[..], &identities].concat()),
        of_model("a chain", &[&[input("0", UINT8)], &chain[..]].concat()),
        of_model("casts", &[&x[..], &casts].concat()),
        of_model("constants", &constants),
        of_model("integers in a constant", &[ints]),
        of_model("strings in a constant", &[strings]),
    ]);
    assert!(times.iter().all(|&times| times < 64.0), "{times:?}");
}

/// One attribute too many is as wrong as many.
#[test]
fn attributes_that_no_node_has_take_no_memory_of_their_own() {
    for (operator, inputs) in [("Cast", 1), ("CastLike", 2), ("Identity", 1), ("Constant", 0)] {
        let node = node(operator, &["x"; 2][..inputs], &["y"]);
        let node = message().raw(node).raw(Message([0x2a, 0].repeat(1 << 20)));
        let bytes = model(28, &[input("x", FLOAT), node.part()]).0;
        let (length, mut error) = (bytes.len(), None);
        let peak = allocation_counter::measure(|| error = Model::from_bytes(&bytes, None).err()).bytes_max;
        assert!(error.is_some() && peak < 64 * length as u64, "{operator}: {peak} bytes for {length}: {error:?}");
    }
}

/// Initializers that name the same data in a file, of types with and without unused bits.
#[test]
fn external_data_is_read_once_and_only_if_it_is_needed() {
    const SIZE: usize = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), vec![0xff; SIZE]).unwrap();
    let external = |name: &String, t: ElementType, elements: usize, location: &str| {
        let start = message().int(DIMS, elements as i64).int(DATA_TYPE, t.onnx_code().into()).bytes(NAME, name);
        message().bytes(5, start.int(DATA_LOCATION, 1).bytes(EXTERNAL_DATA, entry("location", location)))
    };
    let names: Vec<_> = (0..100).map(name).collect();
    let initializers = names.iter().enumerate().map(|(index, name)| match index % 3 {
        0 => external(name, INT8, SIZE, "data"),
        1 => external(name, INT4, 2 * SIZE - 1, "./data"),
        _ => external(name, UINT4, 2 * SIZE - 1, "data"),
    });
    let initializers: Vec<_> = initializers.collect();
    let (mut read, folder) = (None, Some(folder.path()));
    let outputs: Vec<_> = names.iter().map(|name| untyped_output(name)).collect();
    let bytes = model(28, &[&initializers[..], &outputs].concat()).0;
    let peak = allocation_counter::measure(|| read = Some(Model::from_bytes(&bytes, folder).unwrap())).bytes_max;
    assert!(peak < 3 * SIZE as u64, "{peak} bytes");
    let (outputs, _) = pollster::block_on(onnx::run(&on_cpu(), &read.unwrap(), Vec::new())).unwrap();
    let data: Vec<&[u8]> = outputs.iter().map(|output| output.tensor.bytes().unwrap()).collect();
    assert!(data.iter().all(|bytes| bytes.len() == SIZE && bytes[..SIZE - 1].iter().all(|&byte| byte == 0xff)));
    let last = |index: usize| if index.is_multiple_of(3) { 0xff } else { 0x0f };
    assert!(data.iter().enumerate().all(|(index, bytes)| bytes[SIZE - 1] == last(index)));
    let first = |index: usize| data[usize::from(!index.is_multiple_of(3))].as_ptr();
    assert!(data.iter().enumerate().all(|(index, bytes)| bytes.as_ptr() == first(index)));

    let needed = &names[5];
    let bytes = model(28, &[&initializers[..], &[cast(needed, "y", INT8), output("y", INT8)]].concat()).0;
    let mut read = None;
    let peak = allocation_counter::measure(|| read = Some(Model::from_bytes(&bytes, folder).unwrap())).bytes_max;
    assert!(peak < 2 * SIZE as u64, "{peak} bytes");
}

/// Results have the shape of their source.
#[test]
fn a_large_shape_is_held_once() {
    const DIMS: usize = 10_000;
    let names: Vec<_> = (0..1000).map(|index| format!("y{index}")).collect();
    let casts = names.iter().flat_map(|name| [cast("x", name, FLOAT16), output(name, FLOAT16)]);
    let model = newest(&[input("x", FLOAT)].into_iter().chain(casts).collect::<Vec<_>>());
    let tensor = Tensor::from_slice(vec![1; DIMS], &[1.5f32]).unwrap();
    let mut result = None;
    let run = || result = Some(pollster::block_on(onnx::run(&on_cpu(), &model, vec![tensor])).unwrap());
    let peak = allocation_counter::measure(run).bytes_max;
    assert!(peak < 100 * 8 * DIMS as u64, "{peak} bytes");
    let (outputs, _) = result.unwrap();
    assert!(outputs.iter().all(|output| output.tensor.shape() == [1; DIMS]));
}

//! Models as people have them, converted as they would.

use support::models::field;

use crate::tool::{Folder, floats};

/// 1, 2 and 0.1 in FLOAT16.
const HALVES: [u8; 6] = [0, 0x3c, 0, 0x40, 0x66, 0x2e];

/// A `TensorProto` of three FLOATs.
fn tensor(name: &str, data: &[u8]) -> Vec<u8> {
    [&[8, 3, 16, 1][..], &field(8, name.as_bytes()), data].concat()
}

/// One whose data is in a file.
fn external(name: &str, location: &str) -> Vec<u8> {
    let entry = [field(1, b"location"), field(2, location.as_bytes())].concat();
    tensor(name, &[field(13, &entry), vec![14 << 3, 1]].concat())
}

/// A `ModelProto` of a graph's fields that imports an opset.
fn model(opset: u8, graph: &[u8]) -> Vec<u8> {
    [vec![8, 8], field(7, graph), field(8, &[16, opset])].concat()
}

/// `snapshots/REVISION/onnx/model.onnx` and its data are links into `blobs`.
#[cfg(unix)]
#[test]
fn data_in_the_cache_of_hugging_face() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("snapshots/r/onnx")).expect("a folder");
    std::fs::create_dir(at("blobs")).expect("a folder");
    folder.write("blobs/0123", model(17, &field(5, &external("w", "model.onnx_data"))));
    folder.write("blobs/4567", floats(&[1.0, 2.0, 0.1]));
    folder.write("secret", floats(&[1.0, 2.0, 0.1]));
    symlink("../../../blobs/0123", at("snapshots/r/onnx/model.onnx")).expect("a link");
    let data = at("snapshots/r/onnx/model.onnx_data");
    symlink("../../../blobs/4567", &data).expect("a link");
    folder.convert("snapshots/r/onnx/model.onnx out.onnx --to float16 --device cpu");
    assert_eq!(folder.read("out.onnx.data"), HALVES);
    // What leads elsewhere is refused, before there is an output.
    std::fs::remove_file(&data).expect("a link");
    symlink("../../../secret", &data).expect("a link");
    let outcome = folder.cast("convert snapshots/r/onnx/model.onnx no.onnx --to float16 --device cpu");
    let expected = "cast: snapshots/r/onnx/model.onnx: tensor \"w\": external_data location \"model.onnx_data\" is a link \
                    that leads out of the model's folder";
    assert_eq!((outcome.status, outcome.line()), (Some(1), expected));
    assert_eq!(folder.names(), ["blobs", "out.onnx", "out.onnx.data", "secret", "snapshots"]);
}

//! No output may replace an input or another output, whatever their names; in place only what is asked for.

use std::fs;

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, model_with_data, npy};

/// The line of a usage error, after which all files are as they were.
fn refused(folder: &Folder, line: &str) -> String {
    let names = folder.names();
    let before: Vec<_> = names.iter().map(|name| fs::read(folder.path().join(name)).ok()).collect();
    let outcome = folder.cast(line);
    assert_eq!(outcome.status, Some(2), "{line}: {}", outcome.stderr);
    assert_eq!(folder.names(), names, "{line}");
    let after: Vec<_> = names.iter().map(|name| fs::read(folder.path().join(name)).ok()).collect();
    assert!(before == after, "{line}");
    outcome.line().trim_start_matches("wgpu-cast: ").to_owned()
}

fn array(folder: &Folder, name: &str) {
    folder.write(name, npy("<f4", false, "(2,)", &floats(&[1.0, 2.0])));
}

/// The data of an input has the name that the data of the output would get.
#[test]
fn the_data_of_another_model_is_not_replaced() {
    let folder = Folder::new();
    folder.write("a.onnx", model_with_data("b.onnx.data"));
    folder.write("b.onnx.data", floats(&[1.0, 2.0, 3.0, 4.0]));
    let expected = "b.onnx.data: the data of the output of a.onnx would replace the data of the input a.onnx";
    for option in ["", "--in-place"] {
        assert_eq!(refused(&folder, &format!("convert a.onnx b.onnx --to float16 {option}")), expected);
    }
}

/// Several models may use one file of data. What is no model, and what uses other data, does not matter.
#[test]
fn data_that_another_model_uses_is_not_replaced() {
    let folder = Folder::new();
    folder.write("c.onnx", model_with_data("a.onnx.data"));
    folder.write("a.onnx", model_with_data("a.onnx.data"));
    folder.write("b.onnx", "no model");
    folder.write("d.onnx", model_with_data("d.data"));
    for data in ["a.onnx.data", "d.data"] {
        folder.write(data, floats(&[1.0, 2.0, 3.0, 4.0]));
    }
    let expected =
        "a.onnx.data: the data of the output of a.onnx would replace the data of c.onnx, which is not converted";
    for option in ["", "--force", "--dry-run"] {
        assert_eq!(refused(&folder, &format!("convert a.onnx a.onnx --to float16 --in-place {option}")), expected);
    }
    // The same if the output is another file than the input.
    let from_d =
        "a.onnx.data: the data of the output of d.onnx would replace the data of c.onnx, which is not converted";
    assert_eq!(refused(&folder, "convert d.onnx a.onnx --to float16 --force"), from_d);
    fs::remove_file(folder.path().join("c.onnx")).expect("a file");
    assert_eq!(folder.cast("convert a.onnx a.onnx --to float16 --in-place").status, Some(0));
}

#[test]
fn a_model_and_its_data_are_converted_in_place() {
    let folder = Folder::new();
    folder.write("a.onnx", model_with_data("a.onnx.data"));
    folder.write("a.onnx.data", floats(&[1.0, 2.0, 3.0, 4.0]));
    fs::create_dir(folder.path().join("new")).expect("a folder");
    assert_eq!(folder.cast("convert a.onnx new/a.onnx --to float16").status, Some(0));
    let expected = "a.onnx: the output of a.onnx would replace the input a.onnx (--in-place allows this)";
    assert_eq!(refused(&folder, "convert a.onnx ./a.onnx --to float16").replace("./", ""), expected);
    assert_eq!(folder.cast("convert a.onnx ./a.onnx --to float16 --in-place").status, Some(0));
    for name in ["a.onnx", "a.onnx.data"] {
        assert!(folder.read(name) == folder.read(&format!("new/{name}")), "{name}");
    }
    assert_eq!(folder.names(), ["a.onnx", "a.onnx.data", "new"]);
}

#[test]
fn a_folder_onto_itself_needs_a_flag() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("m")).expect("a folder");
    for shard in ["m-0", "m-1"] {
        let data = checkpoint(&[(shard, "F32", &[2], &floats(&[1.0, 2.0]))]);
        folder.write(&format!("m/{shard}.safetensors"), data);
    }
    folder.write("m/config.json", "{}");
    folder.write(
        "m/m.safetensors.index.json",
        r#"{"metadata":{"total_size":16},"weight_map":{"m-0":"m-0.safetensors","m-1":"m-1.safetensors"}}"#,
    );
    assert_eq!(folder.cast("convert m new --to bf16 --copy-others").status, Some(0));
    let expected = "the output of m/m-0.safetensors would replace the input m/m-0.safetensors (--in-place allows this)";
    for line in ["convert m m --to bf16", "convert m -d new/../m --to bf16", "convert m m --to bf16 --dry-run"] {
        let told = refused(&folder, line);
        assert_eq!(told.split_once(": ").expect("a path").1, expected, "{line}");
    }
    let outcome = folder.cast("convert m m --to bf16 --copy-others --in-place");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for name in ["m-0.safetensors", "m-1.safetensors", "m.safetensors.index.json", "config.json"] {
        assert!(folder.read(&format!("m/{name}")) == folder.read(&format!("new/{name}")), "{name}");
    }
    assert_eq!(fs::read_dir(folder.path().join("m")).expect("a folder").count(), 4);
}

#[test]
fn a_picture_replaces_neither_an_input_nor_an_output() {
    let folder = Folder::new();
    array(&folder, "in.svg");
    let line = "convert in.svg out.svg --in-format npy --out-format npy --to float16";
    assert_eq!(
        refused(&folder, &format!("{line} --plot ./out.svg")),
        "./out.svg: two outputs have this name: the output of in.svg and the picture of --plot"
    );
    fs::hard_link(folder.path().join("in.svg"), folder.path().join("other.svg")).expect("a link");
    for option in ["", "--in-place"] {
        let expected = "other.svg: the picture of --plot would replace the input in.svg";
        assert_eq!(refused(&folder, &format!("{line} --plot other.svg {option}")), expected);
    }
    array(&folder, "a.npy");
    let told = refused(&folder, "convert a.npy out.npy --to float16 --plot a.npy");
    assert_eq!(told, "invalid value 'a.npy' for '--plot <FILE.svg>': the picture's name must end with .svg");
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_same_file() {
    let folder = Folder::new();
    array(&folder, "a.npy");
    std::os::unix::fs::symlink("a.npy", folder.path().join("soft.npy")).expect("a link");
    fs::hard_link(folder.path().join("a.npy"), folder.path().join("hard.npy")).expect("a link");
    for output in ["a.npy", "soft.npy", "hard.npy"] {
        let expected = format!("{output}: the output of a.npy would replace the input a.npy (--in-place allows this)");
        assert_eq!(refused(&folder, &format!("convert a.npy {output} --to float16")), expected);
    }
    // Links that lead to nothing yet, and a folder under two names.
    fs::create_dir(folder.path().join("d")).expect("a folder");
    std::os::unix::fs::symlink("d", folder.path().join("e")).expect("a link");
    std::os::unix::fs::symlink("new.svg", folder.path().join("d/link.svg")).expect("a link");
    let line = "convert a.npy d/new.svg --out-format npy --to float16 --plot e/link.svg";
    assert_eq!(
        refused(&folder, line),
        "e/link.svg: two outputs have this name: the output of a.npy and the picture of --plot"
    );
}

#[test]
fn an_output_replaces_no_input_of_another() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("d")).expect("a folder");
    array(&folder, "a.npy");
    folder.write("d/a.bin", floats(&[1.0]));
    // d/a.npy is the output of a.npy, and of d/a.bin.
    let line = "convert a.npy d/a.bin -d d --out-format npy --from float --to float16";
    assert_eq!(
        refused(&folder, line),
        "d/a.npy: two outputs have this name: the output of a.npy and the output of d/a.bin"
    );
    array(&folder, "d/a.npy");
    assert_eq!(
        refused(&folder, "convert a.npy d/a.npy -d d --to float16 --in-place"),
        "d/a.npy: the output of a.npy would replace the input d/a.npy"
    );
    array(&folder, "out.npy.cast-partial");
    assert_eq!(
        refused(&folder, "convert out.npy.cast-partial out.npy --in-format npy --to float16"),
        "out.npy: the partial file of the output of out.npy.cast-partial would replace the input out.npy.cast-partial"
    );
}

#[test]
fn a_model_that_is_run_replaces_none_of_its_inputs() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("out")).expect("a folder");
    let node = wgpu_cast::onnx::CastNode::with_target(25, wgpu_cast::ElementType::FLOAT16, None, None).expect("a node");
    let model = wgpu_cast_files::onnx::Model::of_cast(&node, wgpu_cast::ElementType::FLOAT, &[2]).expect("a model");
    folder.write("m.onnx", model.to_bytes().expect("a message"));
    array(&folder, "a.npy");
    assert_eq!(folder.cast("convert a.npy out/output_0.pb --to float").status, Some(0));
    let before = folder.read("out/output_0.pb");
    assert_eq!(
        refused(&folder, "run m.onnx out/output_0.pb -o out --device cpu"),
        "out/output_0.pb: output 0 would replace the input out/output_0.pb"
    );
    assert!(folder.read("out/output_0.pb") == before);
}

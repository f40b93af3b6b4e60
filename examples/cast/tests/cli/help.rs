//! Help, completions and manual pages.

use support::models::field;
use wgpu_cast::ElementType;

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

/// The lines of commands in a text.
fn commands(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("  wgpu-cast ")).collect()
}

#[test]
fn examples_come_before_the_options_and_work() {
    let folder = Folder::new();
    let tensors = [("a.weight", "F32", &[2u64][..], &floats(&[1.0, 2.0])[..]), ("a.bias", "F32", &[1], &[0; 4])];
    folder.write("model.safetensors", checkpoint(&tensors));
    folder.write("weights.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    std::fs::create_dir(folder.path().join("Llama")).expect("a folder");
    let norm = ("a.norm", "F32", &[1u64][..], &[0; 4][..]);
    folder.write("Llama/model.safetensors", checkpoint(&[&tensors[..], &[norm]].concat()));
    folder.write("Llama/tokenizer.txt", "x");
    let scaled = crate::dequantize::pair(&[2, 2], "F32", &[1, 1], &floats(&[2.0]));
    folder.write("DeepSeek-V3/model.safetensors", scaled);
    let weight = ("a.weight", "F32", &[2u64, 1][..], &floats(&[1.0, 2.0])[..]);
    folder.write("Qwen3/model.safetensors", checkpoint(&[weight]));
    let value = |name: &str| [field(1, name.as_bytes()), field(2, &field(1, &[8, 1, 18, 0]))].concat();
    let tensor = [vec![8, 1, 16, 1], field(8, b"w"), field(9, &floats(&[1.0]))].concat();
    let node = [field(1, b"x"), field(1, b"w"), field(2, b"y"), field(4, b"Add")].concat();
    let graph = [field(1, &node), field(2, b"g"), field(5, &tensor), field(11, &value("x")), field(12, &value("y"))];
    folder.write("model.onnx", [vec![8, 8], field(7, &graph.concat()), field(8, &[16, 17])].concat());

    let long = folder.cast("convert --help");
    let short = folder.cast("convert -h");
    for (help, least) in [(&long, 8), (&short, 3)] {
        let text = help.text();
        let (usage, examples, options) = (text.find("Usage: "), text.find("\nExamples"), text.find("\nOptions:"));
        assert!(usage < examples && examples < options && usage.is_some(), "{text}");
        let found = commands(text);
        assert!(found.len() >= least, "{found:?}");
        for line in found {
            let outcome = folder.cast(&line.replace('\'', ""));
            assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
        }
    }
    assert_eq!(folder.read("Llama-fp8/tokenizer.txt"), b"x");
    assert_eq!(folder.cast("man pages").status, Some(0));
    let page = String::from_utf8(folder.read("pages/wgpu-cast-convert.1")).expect("UTF-8");
    assert!(page.contains("Examples:") && page.contains("Element types"), "{page}");
}

#[test]
fn shells_offer_element_types_after_to_and_from() {
    let folder = Folder::new();
    let all: Vec<&str> = ElementType::ALL.iter().map(|t| t.name()).collect();
    // The completions of other shells have only the names of options.
    for (shell, separator) in [("bash", " "), ("zsh", " "), ("fish", "\\t''\n")] {
        let completions = folder.cast(&format!("completions {shell}"));
        // Those of `convert` and `verify`, to and from, and others.
        let lists = completions.text().matches(&all.join(separator)).count();
        assert!(lists >= 2, "{shell}: {lists}");
    }
    // Help and errors do not list them twice.
    let help = folder.cast("convert --help");
    assert!(!help.text().contains("possible values: float"), "{}", help.text());
    let wrong = folder.cast("convert a.npy b.npy --to flaot");
    assert_eq!(
        wrong.line(),
        "wgpu-cast: invalid value 'flaot' for '--to <TYPE>': unknown element type \"flaot\", did you mean float?"
    );
}

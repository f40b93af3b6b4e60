//! `convert --quantize`: what gets no scale is refused by name.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

const QUANTIZED: &str = "the model is quantized already (--dequantize multiplies codes by their scales)";

/// A weight of four elements, and more tensors.
fn with(more: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let one = floats(&[1.0; 4]);
    checkpoint(&[&[("l.weight", "F32", &[2u64, 2][..], &one[..])][..], more].concat())
}

#[test]
fn models_that_do_not_fit_are_refused() {
    let (four, two) = (floats(&[1.0; 4]), floats(&[1.0; 2]));
    let belongs = |other: &str| {
        format!("m/a.safetensors: l.weight: {other}, which the model has, would belong to its codes for readers")
    };
    let codes: (&str, &str, &[u64], &[u8]) = ("k.weight", "F8_E4M3", &[2, 2], &[0x38; 4]);
    let cases = [
        (
            with(&[codes, ("k.weight_scale", "F32", &[], &four[..4])]),
            "",
            format!("m/a.safetensors: k.weight is float8e4m3fn with the scale k.weight_scale: {QUANTIZED}"),
        ),
        (
            with(&[("scaled_fp8", "F8_E4M3", &[0], &[])]),
            "",
            format!("m/a.safetensors: scaled_fp8 is float8e4m3fn, the scale of all float8 tensors: {QUANTIZED}"),
        ),
        (
            with(&[("l.weight_scale_inv", "F32", &[1, 1], &four[..4])]),
            "",
            "m/a.safetensors: l.weight: its scale would be l.weight_scale_inv, which the model has already".to_owned(),
        ),
        (with(&[("l.scale", "F32", &[], &four[..4])]), "", belongs("l.scale")),
        (with(&[("l.weight_scale", "F32", &[2, 1], &two)]), "", belongs("l.weight_scale")),
        (with(&[("l.input_scale", "F32", &[], &four[..4])]), "", belongs("l.input_scale")),
        (with(&[("l.output_scale", "F32", &[], &four[..4])]), "", belongs("l.output_scale")),
        (
            with(&[("l.bias", "F32", &[2], &two)]),
            "--map l.bias=f8e4m3",
            "m/a.safetensors: l.bias: it has the shape [2], and scales are for two axes or more with elements"
                .to_owned(),
        ),
        (
            with(&[("l.ids", "I32", &[2, 2], &four)]),
            "--map l.ids=f8e4m3",
            "m/a.safetensors: l.ids: it is int32, and only float, float16 and bfloat16 get scales".to_owned(),
        ),
    ];
    for (file, options, expected) in cases {
        let folder = Folder::new();
        folder.write("m/a.safetensors", file);
        let outcome = folder.cast(&format!("convert m out --quantize block {options}"));
        assert_eq!((outcome.status, outcome.line()), (Some(1), &*format!("wgpu-cast: {expected}")));
        assert_eq!(folder.names(), ["m"]);
    }
    for layout in ["tensor", "row", "block"] {
        for shape in [[2, 0], [0, 2]] {
            let folder = Folder::new();
            folder.write("a.safetensors", with(&[("l.empty", "F32", &shape, &[])]));
            let line = format!("convert a.safetensors out.safetensors --quantize {layout} --map l.empty=f8e4m3");
            let message = format!(
                "wgpu-cast: a.safetensors: l.empty: it has the shape {shape:?}, and scales are for two axes or more with \
                 elements"
            );
            let outcome = folder.cast(&line);
            assert_eq!((outcome.status, outcome.line()), (Some(1), &*message));
        }
    }
    // Rows of 128 x 128 that do not divide a matrix: a part of the plan for each.
    let folder = Folder::new();
    let many = vec![0; 2 * 65_537 * 129];
    folder.write("a.safetensors", checkpoint(&[("l.experts", "F16", &[65_537, 129, 1], &many)]));
    let outcome = folder.cast("convert a.safetensors out.safetensors --quantize block --map l.experts=f8e4m3");
    let message = "wgpu-cast: a.safetensors: l.experts: 65537 matrices are more than 65536";
    assert_eq!((outcome.status, outcome.line()), (Some(1), message));
    let folder = Folder::new();
    folder.write("m/a.safetensors", with(&[]));
    folder.write("m/config.json", r#"{"quantization_config": {"quant_method": "gptq"}}"#);
    let outcome = folder.cast("convert m out --quantize block");
    let message = "wgpu-cast: m/a.safetensors: \"quantization_config\" in m/config.json says that the model is quantized \
                   already (--dequantize multiplies codes by their scales)";
    assert_eq!((outcome.status, outcome.line()), (Some(1), message));
    // JSON's last member counts for readers, and would take the new one's place.
    folder.write("m/config.json", r#"{"quantization_config": {"quant_method": "gptq"}, "quantization_config": null}"#);
    let outcome = folder.cast("convert m out --quantize block --copy-others");
    let message = "wgpu-cast: m/config.json: \"quantization_config\" is given twice";
    assert_eq!((outcome.status, outcome.line()), (Some(1), message));
    assert_eq!(folder.names(), ["m"]);
}

/// Between the names of two shards, a run in place may be killed. The first shard is quantized then.
#[test]
fn an_interrupted_run_in_place_is_told() {
    let folder = Folder::new();
    let weight = |name: &str| checkpoint(&[(name, "F32", &[2, 2], &floats(&[1.0; 4]))]);
    let [first, second] = [1, 2].map(|number| format!("model-0000{number}-of-00002.safetensors"));
    folder.write(&format!("m/{first}"), weight("a.weight"));
    folder.write(&format!("m/{second}"), weight("b.weight"));
    let line = "convert m m --quantize tensor --in-place";
    assert_eq!(folder.cast(line).status, Some(0));
    folder.write(&format!("m/{second}"), weight("b.weight"));
    let outcome = folder.cast(line);
    let message = format!(
        "wgpu-cast: m/{first}: a.weight_scale is float, the scale of a.weight: {QUANTIZED}; if a run with --in-place was \
         interrupted between two shards, give the files *.cast-partial their names"
    );
    assert_eq!((outcome.status, outcome.line()), (Some(1), &*message));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    folder.write("a.safetensors", with(&[("n.weight", "F32", &[2], &floats(&[1.0; 2]))]));
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    folder.write("m/a.safetensors", with(&[]));
    folder.write("m/a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    let no_weight = "--quantize: no tensor that the rules choose is the weight of a linear layer (--map \
                     GLOB=float8e4m3fn names others)";
    for (line, message) in [
        (
            "a.safetensors out.safetensors --quantize tensor --to e5m2",
            "--quantize: readers expect codes of float8e4m3fn, not of float8e5m2 (--map GLOB=TYPE casts without scales)",
        ),
        (
            "a.safetensors out.safetensors --quantize row --device gpu",
            "--quantize: scales are computed on the CPU, not on a GPU",
        ),
        ("a.npy out.npy --quantize row", "a.npy: --quantize is for .safetensors files"),
        ("m out --quantize row", "m/a.npy: --quantize is for .safetensors files"),
        ("a.safetensors out.safetensors --quantize row --map l.weight=keep", no_weight),
        (
            "a.safetensors out.safetensors --quantize row --to e4m3 --only n.*",
            "--only 'n.*': --quantize does not apply to n.weight, which is no weight of a linear layer (--map GLOB=TYPE \
             casts any tensor)",
        ),
        (
            "a.safetensors out.safetensors --quantize row --to e4m3 --only *_scale",
            "--only '*_scale': no tensor has such a name",
        ),
        (
            "a.safetensors out.safetensors --quantize row --clamp",
            "--clamp affects only casts of numbers to float16, bfloat16 and float, and there are none",
        ),
    ] {
        let outcome = folder.cast(&format!("convert {line}"));
        assert_eq!((outcome.status, outcome.line()), (Some(2), &*format!("wgpu-cast: {message}")), "{line}");
    }
    for other in ["--dequantize", "--ignore-scales"] {
        let outcome = folder.cast(&format!("convert a.safetensors out.safetensors --quantize row {other}"));
        let first = outcome.stderr.lines().next();
        let message = format!("wgpu-cast: the argument '--quantize <tensor|row|block>' cannot be used with '{other}'");
        assert_eq!((outcome.status, first), (Some(2), Some(&*message)));
    }
    let outcome = folder.cast("convert a.safetensors out.safetensors --quantize channel");
    let message = "wgpu-cast: invalid value 'channel' for '--quantize <tensor|row|block>' [possible values: tensor, row, \
                   block]";
    assert_eq!((outcome.status, outcome.stderr.lines().next()), (Some(2), Some(message)));
    assert_eq!(folder.names(), ["a.npy", "a.safetensors", "m"]);
}

/// NaN and infinities have no scale. The error names the tensor and the block.
#[test]
fn weights_that_are_not_finite_are_refused() {
    let mut elements = vec![1.0; 130 * 2];
    for (place, value, told) in
        [(259, f32::NAN, "a NaN"), (259, -f32::NAN, "a NaN"), (3, f32::NEG_INFINITY, "an infinity")]
    {
        for (layout, block) in [("tensor", 0), ("row", place / 2), ("block", place / 2 / 128)] {
            let folder = Folder::new();
            elements[place] = value;
            folder.write("a.safetensors", checkpoint(&[("l.weight", "F32", &[130, 2], &floats(&elements))]));
            elements[place] = 1.0;
            let outcome = folder.cast(&format!("convert a.safetensors out.safetensors --quantize {layout}"));
            let message = format!(
                "wgpu-cast: a.safetensors: tensor \"l.weight\": block {block} has {told}, so that it has no scale"
            );
            assert_eq!((outcome.status, outcome.line()), (Some(1), &*message));
            assert_eq!(folder.names(), ["a.safetensors"]);
        }
    }
}

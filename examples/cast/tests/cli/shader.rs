//! `wgpu-cast shader`.

use crate::tool::Folder;

#[test]
fn formats_begin_as_they_should() {
    let folder = Folder::new();
    for edge in ["", "--edge"] {
        let print = |format: &str| {
            let line = format!("shader --from float --to float8e4m3fn --format {format} {edge}");
            let outcome = folder.cast(&line);
            assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{line}");
            outcome.stdout
        };
        let wgsl = String::from_utf8(print("wgsl")).expect("WGSL is UTF-8");
        let mut lines = wgsl.lines();
        assert_eq!(lines.next(), Some("// from: float"));
        assert_eq!(lines.next(), Some("// to: float8e4m3fn"));
        for name in ["// elements per invocation: ", "// workgroup size: "] {
            let number = lines.next().and_then(|line| line.strip_prefix(name));
            let number = number.map(|number| number.trim_start_matches("up to "));
            assert!(number.is_some_and(|number| number.parse::<u32>().is_ok_and(|n| n > 0)), "{name}");
        }
        let spirv = print("spirv");
        assert_eq!(spirv.len() % 4, 0);
        assert_eq!(spirv[..4], [0x03, 0x02, 0x23, 0x07], "the magic number, little-endian");
        assert_eq!(spirv[4..8], [0, 3, 1, 0], "version 1.3");
        assert!(spirv.windows(5).any(|part| part == b"main\0"));
        for (format, beginning, entry) in
            [("msl", "// language: metal2.4", "kernel void main_"), ("glsl", "#version 310 es", "void main()")]
        {
            let text = String::from_utf8(print(format)).expect("UTF-8");
            assert!(text.starts_with(beginning) && text.contains(entry), "{format}");
        }
        let hlsl = String::from_utf8(print("hlsl")).expect("UTF-8");
        assert!(hlsl.contains("[numthreads(") && hlsl.contains("void main("), "hlsl");
    }
}

#[test]
fn options_reach_the_kernel_and_files_are_written() {
    let folder = Folder::new();
    let print = |rest: &str| folder.cast(&format!("shader --from float {rest}")).stdout;
    assert_ne!(print("--to float8e8m0"), print("--to float8e8m0 --round-mode down"));
    assert_ne!(print("--to float8e5m2"), print("--to float8e5m2 --saturate false"));
    assert_ne!(print("--to int4"), print("--to int4 --opset 21"));
    let text = print("--to int4");
    assert!(print("--to int4 -o int4.wgsl").is_empty());
    assert_eq!(folder.read("int4.wgsl"), text);
    assert_eq!(folder.names(), ["int4.wgsl"]);
}

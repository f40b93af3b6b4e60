//! Where casts run, with an adapter and without.

use support::faulty_driver::FaultyDriver;

use crate::tool::{Folder, INSTALL, Outcome, floats, npy};

fn on_gpu(outcome: Outcome) -> Outcome {
    assert!(!outcome.stderr.contains("no GPU adapter"), "{INSTALL}; {}", outcome.stderr);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    outcome
}

fn waves() -> Vec<u8> {
    let specials = [f32::NAN, -f32::NAN, f32::INFINITY, -f32::INFINITY, 0.0, -0.0, 1e-40, 448.0, 464.0, 465.0, 65520.0];
    let wave = (0..1000).map(|i| (i as f32 * 0.37).sin() * 10f32.powi(i % 12 - 5));
    floats(&wave.chain(specials).collect::<Vec<_>>())
}

#[test]
fn without_a_gpu_the_cpu_casts_and_says_why() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(3,)", &floats(&[1.0, 500.0, -0.1])));
    let outcome = folder.cast_without_gpu("convert a.npy out.npy --to float8e4m3fn");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let line = outcome.stderr.lines().next().expect("a line");
    let expected = "float -> float8e4m3fn, 3 elements, on the CPU (faster than copying to a GPU and back)";
    assert_eq!(line, format!("{expected}; lost: 1 became the largest or least number"));
    assert_eq!(folder.read("out.npy"), npy("<V1", false, "(3,)", &[0x38, 0x7e, 0x9d]));

    let outcome = folder.cast_without_gpu("adapters");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.text().contains("no GPU adapter found"), "{}", outcome.text());
}

#[test]
fn without_a_gpu_asking_for_one_fails() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    for line in [
        "convert a.npy out.npy --to int8 --device gpu",
        "convert a.npy out.npy --to int8 --adapter llvmpipe",
        "verify --from int2 --to int2",
        "bench --from int2 --to int2",
    ] {
        let outcome = folder.cast_without_gpu(line);
        assert_eq!(outcome.status, Some(1), "{line}: {}", outcome.stderr);
        assert!(outcome.line().starts_with("wgpu-cast: no "), "{line}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn an_unknown_backend_is_named() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    let told = "WGPU_BACKEND is \"foo, \", which names no backend (vulkan, metal, dx12, gl, webgpu or noop)";
    for line in ["--device gpu", "--adapter llvmpipe"] {
        let outcome =
            folder.cast_with(&format!("convert a.npy out.npy --to int8 {line}"), &[("WGPU_BACKEND", "foo, ")]);
        assert_eq!(outcome.status, Some(1), "{line}: {}", outcome.stderr);
        assert_eq!(outcome.line(), format!("wgpu-cast: no GPU adapter: {told}"), "{line}");
    }
    let outcome = folder.cast_with("adapters", &[("WGPU_BACKEND", "foo, ")]);
    assert!(outcome.text().contains(told), "{}", outcome.text());
}

/// wgpu's own search by this variable panics where no adapter has the name.
#[test]
fn a_name_for_wgpu_s_own_search_changes_nothing() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    for choice in ["gpu", "auto", "cpu"] {
        let line = format!("convert a.npy out.npy --to int8 --device {choice}");
        on_gpu(folder.cast_with(&line, &[("WGPU_ADAPTER_NAME", "nosuchadapter")]));
        assert_eq!(folder.read("out.npy"), npy("|i1", false, "(1,)", &[1]), "{choice}");
    }
}

#[test]
fn an_unknown_adapter_is_answered_with_the_list() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    let names = on_gpu(folder.cast("adapters"));
    let first = names.text().lines().next().map(|line| line.trim_start_matches(['*', ' ']));
    let first = first.and_then(|line| line.split(" (").next()).expect("an adapter's name");
    assert_ne!(first, "no GPU adapter found", "{INSTALL}");
    let outcome = folder.cast("convert a.npy out.npy --to int8 --adapter nosuchadapter");
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.line().contains("nosuchadapter") && outcome.line().contains(first), "{}", outcome.stderr);
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn part_of_an_adapters_name_in_any_case_will_do() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    let adapters = folder.cast("adapters");
    let name = adapters.text().split_whitespace().find(|word| *word != "*").unwrap_or_else(|| panic!("{INSTALL}"));
    for part in [name.to_uppercase(), name.to_lowercase(), name[..3].to_owned()] {
        let outcome = on_gpu(folder.cast(&format!("convert a.npy out.npy --to int8 --adapter {part}")));
        let line = outcome.line();
        assert!(line.starts_with(&format!("float -> int8, 1 element, on {name}")), "{line}");
        assert!(line.ends_with(&format!("(--adapter {part}); no value was lost")), "{line}");
    }
}

#[test]
fn gpu_and_cpu_write_the_same_bytes() {
    let folder = Folder::new();
    folder.write("a.bin", waves());
    for (from, to) in [
        ("float", "float8e4m3fn"),
        ("float", "float8e5m2 --saturate false"),
        ("float", "float8e8m0 --round-mode nearest"),
        ("float", "int4 --opset 21"),
        ("float", "float6e3m2"),
        ("float", "double"),
        ("float", "bool"),
        ("uint16", "float16"),
        ("float6e2m3", "bfloat16"),
        ("int4", "uint2"),
        ("int64", "float4e2m1"),
    ] {
        let len = if from == "int64" { "--len 505" } else { "" };
        let line = format!("convert a.bin out.bin --from {from} --to {to} {len}");
        if from == "int64" {
            folder.write("a.bin", &waves()[..505 * 8]);
        }
        on_gpu(folder.cast(&format!("{line} --device gpu")));
        let gpu = folder.read("out.bin");
        assert_eq!(folder.cast(&format!("{line} --device cpu")).status, Some(0), "{line}");
        assert_eq!(gpu, folder.read("out.bin"), "{line}");
    }
}

#[test]
fn verify_proves_a_pair() {
    let outcome = on_gpu(Folder::new().cast("verify --from float8e5m2 --to float8e8m0"));
    assert!(outcome.text().contains("1 pair, 6 casts, "), "{}", outcome.text());
    on_gpu(Folder::new().cast("verify --from float --to float16 --random 100 --seed 7"));
}

#[test]
fn verify_and_adapters_print_json() {
    let folder = Folder::new();
    let lines = |line: &str| -> Vec<serde_json::Value> {
        let outcome = on_gpu(folder.cast(line));
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let verified = lines("verify --from float8e5m2 --to int8 --json");
    assert_eq!((verified.len(), &verified[0]["equal"], &verified[1]["pairs"]), (2, &true.into(), &1.into()));
    assert_eq!(verified[0]["elements"], verified[1]["elements"]);
    let adapters = lines("adapters --json");
    assert_eq!(adapters.last().expect("a summary")["adapters"], adapters.len() - 1);
    assert!(adapters.len() > 1 && adapters[0]["adapter"].is_string(), "{adapters:?}");
    for line in ["verify --from bool --to int8 --quiet", "adapters -q", "bench --from int8 --to int4 --elements 9 -q"] {
        let outcome = on_gpu(folder.cast(line));
        assert_eq!((outcome.text(), outcome.stderr.as_str()), ("", ""), "{line}");
    }
}

#[test]
fn bench_prints_json() {
    let outcome = on_gpu(Folder::new().cast("bench --from float --to float16 --elements 4099,7 --json"));
    let lines: Vec<serde_json::Value> =
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    for (lines, elements) in lines.chunks(2).zip([4099, 7]) {
        assert_eq!(lines[0]["elements"], elements);
        let clock = lines[0]["clock"].as_str();
        assert!(clock.is_some_and(|clock| ["timestamp queries", "wall clock"].contains(&clock)), "{lines:?}");
        assert_eq!((lines[1]["from"].as_str(), lines[1]["to"].as_str()), (Some("float"), Some("float16")));
        for number in ["gbps", "copy_gbps", "ratio"] {
            assert!(lines[1][number].as_f64().is_some_and(|number| number > 0.0), "{lines:?}");
        }
    }
}

#[test]
fn pipelines_are_kept_and_what_is_broken_is_made_anew() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(3,)", &floats(&[1.0, 500.0, -0.1])));
    let cast = || {
        on_gpu(folder.cast("convert a.npy out.npy --to float8e4m3fn --device gpu"));
        assert_eq!(folder.read("out.npy"), npy("<V1", false, "(3,)", &[0x38, 0x7e, 0x9d]));
    };
    cast();
    let kept = folder.kept();
    let [path] = &kept[..] else {
        let adapters = folder.cast("adapters");
        let has_caches = adapters.text().contains("(vulkan,");
        assert!(kept.is_empty() && !has_caches, "Vulkan has pipeline caches; kept {kept:?} with\n{}", adapters.text());
        support::not_tested("this adapter has no pipeline caches");
        return;
    };
    let data = std::fs::read(path).unwrap();
    cast();
    assert_eq!(std::fs::read(path).unwrap(), data, "nothing new was compiled");
    for broken in [&data[..data.len() / 2], b"", &[&data[..data.len() - 1], &[!data[data.len() - 1]]].concat()] {
        std::fs::write(path, broken).unwrap();
        cast();
        assert_ne!(std::fs::read(path).unwrap(), broken);
        assert_eq!(folder.kept(), kept);
    }
}

/// The tool with a driver that fails, or why that cannot be tried here.
fn with_fault(folder: &Folder, fault: &str, variables: &[(&str, &str)], line: &str) -> Result<Outcome, String> {
    let driver = FaultyDriver::build(folder.path())?;
    Ok(folder.cast_with(line, &[&driver.variables(fault), variables].concat()))
}

#[test]
fn another_adapter_is_used_with_a_message() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    for (line, fault) in [
        ("convert a.npy out.npy --to int8 --device gpu", "device"),
        ("verify --from int2 --to int2 --report", "module:71"),
    ] {
        // A GPU's OpenGL would be better than the adapter that does not work.
        let variables = [("WGPU_BACKEND", "vulkan,gl"), ("LIBGL_ALWAYS_SOFTWARE", "1")];
        let outcome = match with_fault(&folder, fault, &variables, line) {
            Ok(outcome) => outcome,
            Err(reason) => return support::not_tested(reason),
        };
        // Without OpenGL there is no other adapter.
        if outcome.status == Some(1) {
            assert!(outcome.line().starts_with("wgpu-cast: no GPU adapter: llvmpipe"), "{}", outcome.stderr);
            continue;
        }
        let message = outcome.stderr.lines().next().expect("a message");
        assert!(message.starts_with("warning: llvmpipe") && message.contains("(gl) is used, because"), "{message}");
        if line.ends_with("--report") {
            assert!(outcome.text().contains("| adapters that do not work | llvmpipe"), "{}", outcome.text());
        }
    }
}

#[test]
fn a_report_tells_of_wrong_results_and_of_failures() {
    let folder = Folder::new();
    let vulkan = [("WGPU_BACKEND", "vulkan")];
    for (fault, line, told) in [
        ("module:7fffffff", "verify --from float --to float16 --random 1", "| result | WRONG RESULTS, see below |"),
        ("module:71", "verify --exhaustive --from bfloat16 --to float16", "| result | WRONG RESULTS, see below |"),
        ("submit:8", "verify --from float16 --random 1", "| result | FAILED, see below |"),
        ("submit:8", "verify --exhaustive --from int8", "| result | FAILED, see below |"),
    ] {
        let outcome = match with_fault(&folder, fault, &vulkan, &format!("{line} --adapter llvmpipe --report")) {
            Ok(outcome) => outcome,
            Err(reason) => return support::not_tested(reason),
        };
        assert_eq!(outcome.status, Some(1), "{line}: {}", outcome.stderr);
        let text = outcome.text();
        assert!(text.contains(told) && text.contains("| backend | vulkan |"), "{line}: {text}");
        let is_wrong = told.contains("WRONG");
        // For programs the last line has the verdict, however it ends.
        let json = with_fault(&folder, fault, &vulkan, &format!("{line} --adapter llvmpipe --json")).expect("as above");
        let parsed = |line| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        let lines: Vec<_> = json.text().lines().map(parsed).collect();
        let last = lines.last().expect("a line");
        assert_eq!(last["equal"] == false, is_wrong, "{line}: {last}");
        assert!(is_wrong || last["failure"].is_string(), "{line}: {last}");

        assert_eq!(text.contains(" becomes 0x"), is_wrong, "{line}: {text}");
        // What the message on stderr says of a failure is in the report.
        let said = outcome.line().trim_start_matches("wgpu-cast: ");
        assert!(is_wrong || text.contains(said), "{line}: {said}: {text}");
    }
}

//! ONNX's own node tests of Cast and CastLike, from ten releases, on the CPU and on a device, compared bit for bit.
//! `files/tests/onnx/fetch.sh` gets the data, and `tests/run.sh` runs these tests wherever it could.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use support::adapter;
use wgpu_cast::{Context, DeviceChoice, ElementType, Kind, Route, Tensor};
use wgpu_cast_files::onnx::{self, Model, NamedTensor};

/// Differences that are accepted, one by one: release, case and why.
const ACCEPTED: &str = include_str!("accepted.txt");

/// What makes a difference acceptable; a case that stands in the list must differ in just this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// Both are NaN. Data up to 1.18 has FLOAT8E5M2's NaN as 7f, where later data has 7e, and gives FNUZ's only NaN a
    /// positive sign, where later data has a negative one.
    NanCode,
    /// Data up to 1.18 truncates to BFLOAT16, where later data rounds to nearest even: one unit in the last place.
    Bfloat16Truncation,
}

fn accepted(release: &str) -> BTreeMap<&'static str, Difference> {
    let lines = ACCEPTED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let own = words.filter(|words| words[0] == release);
    let difference = |word| match word {
        "nan-code" => Difference::NanCode,
        "bfloat16-truncation" => Difference::Bfloat16Truncation,
        _ => panic!("unknown difference {word}"),
    };
    own.map(|words| (words[1], difference(words[2]))).collect()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}: run files/tests/onnx/fetch.sh", path.display()));
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// `<kind>_0.pb`, `<kind>_1.pb` … of a case.
fn tensors(case: &Path, kind: &str) -> Vec<Tensor> {
    let data = case.join("test_data_set_0");
    let files = (0..).map(|index| data.join(format!("{kind}_{index}.pb"))).take_while(|file| file.exists());
    let read = |file: PathBuf| NamedTensor::from_bytes(fs::read(&file).unwrap(), Some(&data)).unwrap().tensor;
    files.map(read).collect()
}

fn is_nan(element_type: ElementType, code: u64) -> bool {
    let Kind::Float(format) = element_type.kind() else { return false };
    match format.infinity() {
        Some(infinity) => code & format.magnitude_mask() > infinity,
        None => format.nan().is_some_and(|nan| code | format.sign_code() == nan | format.sign_code()),
    }
}

/// What is wrong with a result, if it is not the expected one nor differs as accepted.
fn compare(got: &Tensor, expected: &Tensor, difference: Option<Difference>) -> Result<(), String> {
    // Up to 1.18 BFLOAT16 is stored as UINT16, as the inputs are.
    let same_type = got.element_type() == expected.element_type()
        || (got.element_type(), expected.element_type()) == (ElementType::BFLOAT16, ElementType::UINT16);
    if !same_type || got.shape() != expected.shape() {
        let sides = [got, expected].map(|t| format!("{} {:?}", t.element_type(), t.shape()));
        return Err(format!("{}, expected {}", sides[0], sides[1]));
    }
    if let (Some(got), Some(expected)) = (got.strings(), expected.strings()) {
        let different = got.zip(expected).find(|(got, expected)| got != expected);
        return different.map_or(Ok(()), |(got, expected)| Err(format!("{got:?}, expected {expected:?}")));
    }
    let fine = |got_code: u64, expected_code: u64| match difference {
        Some(Difference::NanCode) => [got_code, expected_code].iter().all(|&code| is_nan(got.element_type(), code)),
        Some(Difference::Bfloat16Truncation) => {
            got.element_type() == ElementType::BFLOAT16 && got_code == expected_code + 1
        }
        None => false,
    };
    let different: Vec<_> = got.codes().zip(expected.codes()).filter(|(got, expected)| got != expected).collect();
    if difference.is_some() && different.is_empty() {
        return Err("equals what is listed as different".to_owned());
    }
    let wrong = different.iter().find(|(got, expected)| !fine(*got, *expected));
    wrong.map_or(Ok(()), |(got, expected)| Err(format!("{got:x}, expected {expected:x}")))
}

fn run(release: &str, cases: usize) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/onnx-node-data").join(release);
    let accepted = accepted(release);
    let cpu = pollster::block_on(Context::open(DeviceChoice::Cpu)).unwrap();
    let contexts = [(Route::Cpu, cpu), (Route::Gpu, adapter::open())];
    let mut wrong = Vec::new();
    let folders = folders(&data);
    for case in &folders {
        let name = case.file_name().unwrap().to_string_lossy();
        let (inputs, expected) = (tensors(case, "input"), tensors(case, "output"));
        assert!(!inputs.is_empty() && !expected.is_empty(), "{name}");
        let model = Model::from_bytes(&fs::read(case.join("model.onnx")).unwrap(), Some(case));
        for (route, context) in &contexts {
            let result = model.as_ref().map_err(ToString::to_string).and_then(|model| {
                let run = pollster::block_on(onnx::run(context, model, inputs.clone()));
                let (outputs, report) = run.map_err(|error| error.to_string())?;
                // Strings are for the CPU.
                let strings = inputs[0].strings().is_some() || outputs[0].tensor.strings().is_some();
                let route = if strings { Route::Cpu } else { *route };
                assert_eq!((report.casts.route, outputs.len()), (route, expected.len()), "{name}");
                let mut pairs = outputs.iter().zip(&expected);
                pairs.try_for_each(|(got, expected)| compare(&got.tensor, expected, accepted.get(&*name).copied()))
            });
            if let Err(what) = result {
                wrong.push(format!("{release} {name} {route:?}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} runs:\n{}", wrong.len(), 2 * folders.len(), wrong.join("\n"));
    assert_eq!(folders.len(), cases, "cases of {release}");
    let unknown = accepted.keys().find(|name| !data.join(name).exists());
    assert_eq!(unknown, None, "a case in the list of accepted differences");
}

macro_rules! releases {
    ($($test:ident $release:literal $cases:literal)*) => {$(
        #[test]
        #[ignore = "needs the data that files/tests/onnx/fetch.sh gets"]
        fn $test() {
            run($release, $cases);
        }
    )*};
}

releases! {
    onnx_1_14_1 "1.14.1" 70
    onnx_1_15_0 "1.15.0" 70
    onnx_1_16_2 "1.16.2" 80
    onnx_1_17_0 "1.17.0" 80
    onnx_1_18_0 "1.18.0" 84
    onnx_1_19_1 "1.19.1" 142
    onnx_1_20_1 "1.20.1" 172
    onnx_1_21_0 "1.21.0" 172
    onnx_1_22_0 "1.22.0" 172
    onnx_1_23_2 "1.23.2" 172
}

//! `wgpu-cast verify --exhaustive` and `--checksums`, on the CPU.

use support::numeric;
use support::options::pair_variants;

use crate::tool::Folder;

const RECORDED: &str = include_str!("../../src/checks/checksums.txt");

/// The checksums of a type of eight bits are those that are recorded, without an adapter.
#[test]
fn checksums_on_the_cpu_are_the_recorded_ones() {
    let folder = Folder::new();
    for how in ["--checksums", "--exhaustive"] {
        let outcome = folder.cast_without_gpu(&format!("verify {how} --from float8e5m2 --device cpu"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let casts = numeric().map(|to| pair_variants("float8e5m2".parse().expect("a type"), to).len()).sum::<usize>();
        let text = outcome.text();
        assert_eq!(text.lines().filter(|line| line.ends_with(", as recorded")).count(), casts, "{text}");
        assert!(text.ends_with(&format!("OK: {casts} checksums as recorded\n")), "{text}");
    }
}

/// Every cast has a line in the recorded file, and no other.
#[test]
fn every_cast_has_a_recorded_checksum() {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#')).count();
    let casts: usize = numeric().flat_map(|from| numeric().map(move |to| pair_variants(from, to).len())).sum();
    let command = "wgpu-cast verify --exhaustive --device cpu";
    assert_eq!(lines, casts, "examples/cast/src/checks/checksums.txt should have what `{command}` prints");
}

/// The blocks that a run has kept are not cast again; a block with another checksum is found.
#[test]
fn a_run_goes_on_from_its_record() {
    let folder = Folder::new();
    let verify = || folder.cast_without_gpu("verify --exhaustive --from int8 --to bool --device cpu --record blocks");
    assert_eq!(verify().status, Some(0));
    let kept = String::from_utf8(folder.read("blocks")).expect("text");
    let (head, block) = kept.split_once('\n').expect("a head and a block");
    assert!(block.starts_with("int8 bool - 0 ") && block.lines().count() == 1, "{kept}");
    // The end of a line that was being written is done again, a whole line is not.
    folder.write("blocks", &kept.as_bytes()[..kept.len() - 5]);
    assert_eq!(verify().status, Some(0));
    assert_eq!(folder.read("blocks"), kept.as_bytes());
    folder.write("blocks", format!("{head}\nint8 bool - 0 0123456789abcdef\n"));
    let outcome = verify();
    assert_eq!(outcome.status, Some(1), "{}", outcome.text());
    assert_eq!(outcome.line(), "wgpu-cast: CPU: other checksums than recorded: int8 bool -");
    assert!(outcome.text().contains("NOT AS RECORDED"), "{}", outcome.text());

    folder.write("blocks", "# another run\n");
    let outcome = verify();
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.line().contains("blocks: belongs to another run"), "{}", outcome.stderr);
    assert_eq!(folder.read("blocks"), b"# another run\n");

    // The other casts of `verify` have no record.
    let outcome = folder.cast_without_gpu("verify --from int8 --to bool --record blocks");
    assert_eq!(outcome.status, Some(2));
    let missing = "wgpu-cast: the following required arguments were not provided: <--exhaustive|--checksums>";
    assert_eq!(outcome.line(), missing);
}

#[test]
fn a_report_is_a_table() {
    let outcome = Folder::new().cast_without_gpu("verify --exhaustive --from int2 --to int4 --device cpu --report");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let text = outcome.text();
    assert!(text.starts_with("| `wgpu-cast verify` | |\n|---|---|\n"), "{text}");
    assert!(text.contains("| device | CPU |") && text.contains("| result | all results as expected |"), "{text}");
    assert!(text.contains("\nint2 int4 - "), "{text}");
}

#!/bin/sh
# Mutation testing: changes one operator, result or arm at a time, and lists the changes that none of the group's tests notices. The
# argument is the group of files:
#   reference, plan   these folders of src/
#   cpu               the CPU path, with what stands below it: formats, packing, conversions, losses
#   strings           text to numbers and back
#   files             the package wgpu-cast-files: readers and writers of files and of ONNX's messages
#   rest              all else of src/: kernels, devices, casters, opset rules
# cargo-mutants lists the changes. tests/mutants builds the crate once with all of them, and runs for each the tests that meet it.
# Constants cannot be changed so: with a shard, as in 0/20, cargo-mutants itself tries each change of that shard in a build of its own.
# Results are in target/mutants; a run that was ended goes on where it was, unless a source or a test has changed.
# Exit status: 2, no test notices some changes, of those that are not in tests/mutants/unnoticed.txt; 3, NOT RUN, and stderr's last line
# says why; others, a step failed.
set -eu
cd "$(dirname "$0")/.."

not_run() {
    echo "NOT RUN: mutation testing: $1" >&2
    exit 3
}

cargo mutants --version >/dev/null 2>&1 || not_run 'cargo install --locked cargo-mutants'
cargo nextest --version >/dev/null 2>&1 || not_run 'cargo install --locked cargo-nextest'
group=${1:-}
shard=${2:-}

cpu='src/cpu/** src/types/conversion.rs src/types/conversion/** src/types/loss.rs src/types/loss/** src/bits/packing.rs src/types/packed.rs src/bits/format.rs src/types/element.rs src/types/tensor.rs'
cpu="$cpu src/bits/float_env.rs src/types/options.rs src/bits/threads.rs"
strings='src/rules/strings.rs src/rules/strings/** src/types/string_array.rs'
files='files/src/**'
reference='src/bits/reference/**'
plan='src/plan/**'

package=wgpu-cast
suites=
level=1
timeout=240
option=--file
case $group in
    reference)
        sources=$reference
        suites=host
        tests='test(/^(types::conversion|bits::reference|cpu::tests::(every_recipe|losses))/)'
        tests="$tests or (binary(host) and test(/^(golden|cpu::.*_oracle_says\$)/))"
        ;;
    plan)
        sources=$plan
        tests='test(/^plan/)'
        ;;
    cpu)
        sources=$cpu
        # The loops would take many minutes and GiB to optimise.
        level=0
        suites=host
        # Left out: what takes a minute without optimisation.
        slow='results_are_those|pool_threads|every_offset|every_code_is_counted'
        tests="test(/^(bits|cpu|types)/) and not test(/$slow/)"
        tests="$tests or (binary(host) and test(/^(golden|cpu|losses|properties|threads|shared_bytes|guard_pages)/))"
        ;;
    strings)
        sources=$strings
        suites='host strings'
        tests='binary(strings) or test(/^(rules::strings|types::string_array|threads)/)'
        ;;
    files)
        package=wgpu-cast-files
        sources=$files
        suites='files messages'
        tests='all()'
        ;;
    rest)
        sources="$reference $plan $cpu $strings"
        option=--exclude
        suites='device host strings'
        timeout=600
        tests='all()'
        ;;
    *) not_run 'the group is reference, plan, cpu, strings, files or rest' ;;
esac
set -f
set --
for source in $sources; do
    set -- "$option" "$source" "$@"
done
[ "$option" = --file ] || set -- --file 'src/**' "$@"
export WGPU_CAST_TESTS=emulator
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
# A loop that a change makes endless may take memory, too.
ulimit -v 16000000 2>/dev/null || true
results=target/mutants/$group
mkdir -p "$results"

if [ -n "$shard" ]; then
    for suite in $suites; do
        set -- "--cargo-arg=--test=$suite" "$@"
    done
    for profile in dev test; do
        for setting in "opt-level=$level" incremental=true debug=0; do
            set -- "--cargo-arg=--config=profile.$profile.$setting" "$@"
        done
    done
    # A shard has changes of all files.
    exec cargo mutants --package "$package" --baseline skip --test-tool nextest --timeout "$timeout" --output "$results" \
        --sharding round-robin --shard "$shard" --cargo-arg=--lib "$@" -- -E "$tests"
fi

cargo mutants --package "$package" --list --json "$@" >"$results/list.json"
copy=target/mutants/copy
mkdir -p "$copy"
sum=$(git ls-files -z --cached --others --exclude-standard Cargo.lock Cargo.toml examples files shaders src tests ':(exclude)tests/mutants' |
    xargs -0 cat 2>/dev/null | cksum)
[ "$(cat "$results/sum" 2>/dev/null)" = "$sum" ] || rm -f "$results/verdicts.tsv"
echo "$sum" >"$results/sum"
git ls-files -z --cached --others --exclude-standard | tar --null --create --files-from=- | tar --extract --directory "$copy"
set -- "--package=$package" --lib
for suite in $suites; do
    set -- "--test=$suite" "$@"
done
for profile in dev test; do
    for setting in opt-level=1 debug=0 "package.$package.opt-level=$level"; do
        set -- "--config=profile.$profile.$setting" "$@"
    done
done
for what in test build; do
    CARGO_TARGET_DIR=target/mutants/program cargo "$what" --release --locked --quiet --manifest-path tests/mutants/Cargo.toml
done
exec target/mutants/program/release/wgpu-cast-mutants "$copy" "$results/verdicts.tsv" "$tests" "$@" <"$results/list.json"

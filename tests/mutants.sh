#!/bin/sh
# Mutation testing with cargo-mutants: changes one operator or result at a time, and lists the changes that none of the group's tests
# notices. The first argument is the group:
#   reference, plan   these folders of src/
#   cpu               the CPU path, with what stands below it: formats, packing, conversions, losses
#   strings           text to numbers and back
#   files             readers and writers of files and of ONNX's messages
#   rest              all else: kernels, devices, casters
# The second is the shard, as in 0/20; further ones go to cargo-mutants. Each change takes about ten seconds, of `rest` more, with
# few codes; the first build takes minutes. Results are in target/mutants.
# Exit status: 3, NOT RUN, and stderr's last line says why; others are those of cargo-mutants (2: some were not noticed).
set -eu
cd "$(dirname "$0")/.."

not_run() {
    echo "NOT RUN: mutation testing: $1" >&2
    exit 3
}

cargo mutants --version >/dev/null 2>&1 || not_run 'cargo install --locked cargo-mutants'
cargo nextest --version >/dev/null 2>&1 || not_run 'cargo install --locked cargo-nextest'
group=${1:-}
shard=${2:-0/1}
[ $# -lt 2 ] || shift
[ $# -lt 1 ] || shift

cpu='src/cpu* src/cpu/** src/conversion* src/conversion/** src/loss* src/loss/** src/pack* src/format.rs src/element.rs src/tensor.rs'
cpu="$cpu src/float_env.rs src/options.rs src/threads.rs"
strings='src/strings* src/strings/** src/string_array.rs'
files='src/files* src/files/** src/onnx/**'
reference='src/reference* src/reference/**'
plan='src/plan* src/plan/**'

# The loops of the CPU path compile in seconds only without optimisation.
level=0
timeout=240
suites=
option=--file
case $group in
    reference)
        sources=$reference
        suites=host
        tests='test(/^(conversion|reference|cpu::tests::(every_method|losses))/)'
        tests="$tests or (binary(host) and test(/^(golden|cpu::.*_oracle_says\$)/))"
        ;;
    plan)
        sources=$plan
        tests='test(/^plan/)'
        level=1
        ;;
    cpu)
        sources=$cpu
        suites='files host'
        # Left out: what takes a minute without optimisation.
        slow='results_are_those|pool_threads|every_offset|every_code_is_counted'
        tests="test(/^(cpu|conversion|pack|format|element|tensor|loss|options|float_env|reference)/) and not test(/$slow/)"
        tests="$tests or (binary(host) and test(/^(golden|cpu|properties|threads|shared_bytes|guard_pages)/))"
        tests="$tests or (binary(files) and test(/^losses/))"
        ;;
    strings)
        sources=$strings
        suites=strings
        tests='binary(strings) or test(/^string/)'
        ;;
    files)
        sources=$files
        suites='files messages'
        tests='binary(files) or binary(messages) or test(/^(files|onnx)/)'
        ;;
    rest)
        sources="$reference $plan $cpu $strings $files"
        option=--exclude
        set -- --file 'src/**' "$@"
        suites='device files host messages onnx strings'
        tests='all()'
        level=1
        timeout=600
        ;;
    *) not_run 'the group is reference, plan, cpu, strings, files or rest' ;;
esac
set -f
for source in $sources; do
    set -- "$option" "$source" "$@"
done
# The tests that are needed, compiled quickly.
for suite in $suites; do
    set -- "--cargo-arg=--test=$suite" "$@"
done
for profile in dev test; do
    for setting in opt-level=$level incremental=true debug=0; do
        set -- "--cargo-arg=--config=profile.$profile.$setting" "$@"
    done
done
export WGPU_CAST_TESTS=emulator
# A loop that a change makes endless may take memory, too.
ulimit -v 12000000 2>/dev/null || true
mkdir -p target/mutants
# A shard has changes of all files.
exec cargo mutants --baseline skip --test-tool nextest --timeout "$timeout" --output target/mutants \
    --sharding round-robin --shard "$shard" --cargo-arg=--lib "$@" -- -E "$tests"

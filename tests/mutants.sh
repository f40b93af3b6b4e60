#!/bin/sh
# Mutation testing with cargo-mutants: changes one operator or result at a time, and lists the changes that no test of these notices: the unit
# tests, for `reference` also the suite `host` as far as it judges casts, and for `rest` all suites but those of the command
# line and of fuzzing, with few codes.
# The first argument is the group, `reference`, `plan` or `rest` (all else); the second the shard, as in 0/20; further ones go to
# cargo-mutants. Each change takes about ten seconds, of `rest` more; the first build takes minutes. Results are in target/mutants.
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
case $group in
    reference)
        # The loops of the CPU path compile in seconds only without optimisation. The tests then take fewer codes.
        tests='test(/^(conversion|reference|cpu::tests::(every_method|losses))/)'
        tests="$tests or (binary(host) and test(/^(golden|cpu::.*_oracle_says\$)/))"
        binaries='--lib --test=host'
        level=0
        export WGPU_CAST_TESTS=emulator
        ;;
    plan)
        tests='test(/^plan/)'
        binaries=--lib
        level=1
        ;;
    rest)
        tests='all()'
        binaries='--lib --test=device --test=files --test=host --test=messages --test=onnx --test=strings'
        level=1
        export WGPU_CAST_TESTS=emulator
        ;;
    *) not_run 'the group is reference, plan or rest' ;;
esac
[ $# -lt 2 ] || shift
shift
if [ "$group" = rest ]; then
    # A shard has changes of all files.
    set -- --file 'src/**' --exclude 'src/reference/**' --exclude 'src/reference.rs' --exclude 'src/plan/**' --exclude src/plan.rs \
        --sharding round-robin --timeout 600 "$@"
else
    set -- --file "src/$group/**" --file "src/$group.rs" --timeout 90 "$@"
fi

mkdir -p target/mutants
# A loop that a change makes endless may take memory, too.
ulimit -v 12000000 2>/dev/null || true
# The tests that are needed, compiled quickly.
for binary in $binaries; do
    set -- "$@" "--cargo-arg=$binary"
done
for profile in dev test; do
    for setting in opt-level=$level incremental=true debug=0; do
        set -- "$@" "--cargo-arg=--config=profile.$profile.$setting"
    done
done
exec cargo mutants --baseline skip --test-tool nextest --output target/mutants --shard "$shard" "$@" -- -E "$tests"

#!/bin/sh
# Runs the kernels as Metal gets them (naga's translation to its language), as C++ on this machine: every pair of numeric types
# in all layouts of plans, with tables and without, compared with the CPU path. Then one constant is changed: the comparison
# must notice. A shift by as many bits as a word has or more, which Metal leaves undefined, ends a run, where the compiler can check
# it. CXX names the compiler; FROM the source types, separated by spaces (default: all).
# Exit status: 0, all bits are equal; 3, NOT RUN, and stderr's last line says why; others, a bit differs or a step failed.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target/stacks}
folder=target/stacks/msl
compiler=${CXX:-c++}

if ! command -v "$compiler" >/dev/null 2>&1; then
    echo "NOT RUN: the kernels in Metal's language: there is no C++ compiler ($compiler)" >&2
    exit 3
fi
CARGO_TARGET_DIR=$target cargo build --release --locked --quiet --manifest-path tests/stacks/msl/Cargo.toml
program=$target/release/wgpu-cast-msl
options="-std=c++17 -w -O0"
checks="-fsanitize=shift-exponent -fno-sanitize-recover=shift-exponent"
mkdir -p "$folder"
echo 'int main() { return 0; }' >"$folder/empty.cpp"
# shellcheck disable=SC2086 # options, one a word
if "$compiler" $options $checks -o "$folder/empty" "$folder/empty.cpp" >/dev/null 2>&1; then
    options="$options $checks"
else
    echo "NOT TESTED: whether shifts are defined: $compiler cannot check it" >&2
fi

# Compiles and runs the casts from one type, in a folder.
run() {
    cat tests/stacks/msl/metal.h "$1/$2.cpp" tests/stacks/msl/run.cpp >"$1/$2.all.cpp"
    # shellcheck disable=SC2086 # options, one a word
    "$compiler" $options -o "$1/$2" "$1/$2.all.cpp" && (cd "$1" && "./$2" "$2")
}

rm -rf "$folder"
# shellcheck disable=SC2086 # types, one a word
"$program" "$folder" ${FROM:-}
types=${FROM:-$(cd "$folder" && for file in *.txt; do echo "${file%.txt}"; done)}
failed=0
# Two at a time; each prints its lines at once.
set -- $types
while [ $# -gt 0 ]; do
    first=$1
    shift
    run "$folder" "$first" >"$folder/$first.log" 2>&1 &
    process=$!
    second=${1:-}
    if [ -n "$second" ]; then
        shift
        run "$folder" "$second" >"$folder/$second.log" 2>&1 || failed=1
        tail -n 20 "$folder/$second.log"
    fi
    wait "$process" || failed=1
    tail -n 20 "$folder/$first.log"
done
[ "$failed" = 0 ] || { echo 'a kernel in Metal'"'"'s language is wrong' >&2; exit 1; }

"$program" "$folder/fault" --fault float
if run "$folder/fault" float >"$folder/fault/log" 2>&1 || ! grep -q '^float->float16,' "$folder/fault/log"; then
    tail -n 20 "$folder/fault/log" >&2
    echo 'a changed constant was not noticed' >&2
    exit 1
fi
echo "a changed constant was noticed: $(head -n 1 "$folder/fault/log")"
pairs=$(grep -ho '^[a-z0-9]*->[a-z0-9]*' "$folder"/*.txt | sort -u | wc -l)
casts=$(awk '/ casts, 0 differ$/ { casts += $2 } END { print casts }' "$folder"/*.log)
echo "Metal's language as C++: $pairs pairs, $casts casts, 0 differ from the CPU path"
rm -rf "$folder"

#!/bin/sh
# Runs everything that CI does not, and prints one table: what ran, its seconds, and what could not run and why.
#   release.sh [--list] [--again] [NAME...]
# Without names, all. What has passed for this commit is not run again, so that an interrupted run goes on where it was; `--again` runs it
# again. `--list` prints the names with their commands. Outputs are in target/release-checks. All together take many hours on two cores.
# Exit status: 0, nothing failed; others, something did.
set -u
cd "$(dirname "$0")/.."

# A name and a command a line.
checks=$(
    cat <<'LIST'
readme              sh -c "$(grep -m 1 '^cargo run --release -- convert ' README.md)"
naga                tests/naga.sh
tint                tests/tint.sh
stacks              tests/stacks/run.sh --suites
wasm                tests/stacks/wasm.sh
wasm-browser        integrations/browser/test.sh --all
wgpu-older          integrations/wgpu-older/run.sh
burn                integrations/burn/run.sh
dask                integrations/dask/run.sh
python              env PEERS_TORCH=pip integrations/python/test.sh
avx512              tests/avx512.sh
aarch64             tests/aarch64.sh
cycles              benches/cycles/run.sh --check
i686                tests/i686.sh
windows             tests/windows.sh
address             tests/sanitizers.sh address
thread              tests/sanitizers.sh thread
miri                tests/miri.sh
exhaustive-cpu      target/release/wgpu-cast verify --exhaustive --device cpu
exhaustive-64       env WGPU_CAST_TESTS=exhaustive cargo nextest run --release --test host inputs_of_exhaustive_checks
exhaustive-gpu      env WGPU_CAST_TESTS=exhaustive cargo nextest run --release --test device gpu:: slices:: strided::
onnx-models         files/tests/onnx/models.sh
onnx-nodes          files/tests/onnx/models.sh --nodes --reference
onnx-large          files/tests/onnx/models.sh --large
checkpoint          tests/checkpoint.sh
write-back          tests/write_back.sh
add-type            tests/add_type.sh --suites
add-opset           tests/add_opset.sh
fuzz-cast           env CAST_FUZZ_SECONDS=1800 cargo nextest run --release --test fuzz
fuzz-files          env CAST_FUZZ_SECONDS=1800 cargo nextest run --release --package wgpu-cast-files --test fuzz
fuzz-plans          env CAST_FUZZ_SECONDS=1800 cargo nextest run --release --lib plan::tests::random
fuzz-device         env CAST_FUZZ_SECONDS=1800 cargo nextest run --release --test device random_casts
soak                env CAST_SOAK_SECONDS=600 cargo nextest run --release --test device soak
tool-fuzz           python3 tests/tool_fuzz.py target/release/wgpu-cast 600
publish             cargo publish --dry-run --locked --package wgpu-cast --package wgpu-cast-files --package wgpu-cast-cli
supply              tests/supply.sh
public-api          tests/public_api.sh
LIST
)

again=
case ${1:-} in
    --list)
        echo "$checks"
        exit
        ;;
    --again)
        again=1
        shift
        ;;
    -*)
        echo "usage: $0 [--list] [--again] [NAME...]" >&2
        exit 2
        ;;
esac
for name in "$@"; do
    echo "$checks" | grep -q "^$name  *" || { echo "no check has the name $name; --list prints them" >&2; exit 2; }
done

commit=$(git rev-parse HEAD)
# What passed with changes that are not committed says nothing of later ones.
[ -z "$(git status --porcelain)" ] || again=1 commit=$commit-changed
results=target/release-checks
mkdir -p "$results"
tests/adapter.sh || true
# After that script, which builds the program as the tests need it.
cargo build --release --locked || exit
failed=0
table=$results/table.txt
printf '%-16s %8s  %s\n' check seconds result >"$table"

# A line of commit, seconds, status and reason.
row() {
    read -r _ seconds status reason <"$results/$1.result"
    case $status in
        0) told=passed ;;
        3) told="NOT RUN: ${reason#NOT RUN: }" ;;
        *) told="FAILED with status $status: $results/$1.log" ;;
    esac
    printf '%-16s %8s  %s\n' "$1" "$seconds" "$told" >>"$table"
    [ "$status" = 0 ] || [ "$status" = 3 ] || failed=1
}

while read -r name command; do
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    if [ -z "$again" ] && [ -f "$results/$name.result" ] && grep -q "^$commit [0-9]* 0 " "$results/$name.result"; then
        row "$name"
        continue
    fi
    echo "== $name: $command"
    began=$(date +%s)
    status=0
    sh -c "$command" >"$results/$name.log" 2>&1 </dev/null || status=$?
    seconds=$(($(date +%s) - began))
    echo "== status $status, $seconds s"
    echo "$commit $seconds $status $(tail -n 1 "$results/$name.log" | cut -c 1-200)" >"$results/$name.result"
    row "$name"
done <<LIST
$checks
LIST
cat "$table"
exit "$failed"

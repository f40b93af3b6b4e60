#!/bin/sh
# Compares every cast with the CPU path on every GPU stack that this machine can offer, and prints a table of the stacks:
#     tests/stacks/run.sh [--suites] [--every=N] [STACK...]
# Without names all stacks are tried, in this order:
#     vulkan gl metal dx12            the adapter that wgpu prefers on this backend, with the drivers as installed
#     swiftshader                     wgpu on SwiftShader, which swiftshader.sh downloads
#     mesa                            wgpu on the llvmpipe of a newer Mesa, which mesa.sh downloads
#     dawn dawn-swiftshader dawn-mesa the npm package on Dawn with its compiler tint: integrations/dawn/run.sh on these drivers
#     msl                             the kernels in Metal's language, run as C++: msl.sh
#     hlsl                            the kernels in Direct3D's language, compiled by DXC and FXC, run as Vulkan's: hlsl.sh
# The stacks of wgpu run `wgpu-cast verify`. With --suites they also run the suite `device`, which takes much longer. With --every=N
# those of Dawn cast each Nth pair only.
# What this machine cannot run is printed as NOT RUN with the reason; it is no failure.
# Exit status: 0, everything that ran is equal; 1, a result differs or a step failed: no further stack is run then;
# 2, an unknown stack; 3, nothing ran.
set -eu
cd "$(dirname "$0")/../.."
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"

all='vulkan gl metal dx12 swiftshader mesa dawn dawn-swiftshader dawn-mesa msl hlsl'
suites=false
every=--every=1
chosen=''
for argument in "$@"; do
    case $argument in
        --suites) suites=true ;;
        --every=*) every=$argument ;;
        *)
            case " $all " in
                *" $argument "*) chosen="$chosen $argument" ;;
                *)
                    echo "unknown stack $argument; there are: $all" >&2
                    exit 2
                    ;;
            esac
            ;;
    esac
done

folder=target/stacks
mkdir -p "$folder"
table=$folder/table.txt
: >"$table"
row() {
    printf '%-17s %-7s %6s %6s %8s  %s\n' "$@" >>"$table"
}
row stack check pairs casts seconds result
ran=0

# Prints the table and ends.
finish() {
    echo
    cat "$table"
    exit "$1"
}

# Adds the row of a check that this machine cannot run.
skip() {
    echo "NOT RUN: $1, $2: $3" >&2
    row "$1" "$2" - - - "NOT RUN: $3"
}

# The reason in the output of a script that ended with status 3.
reason() {
    sed -n 's/^NOT RUN: //p' "$1" | tail -n 1
}

# Runs a command as the check of a stack, and adds its row.
check() {
    stack=$1
    what=$2
    shift 2
    log=$folder/$stack-$what.log
    echo "== $stack: $*"
    start=$(date +%s)
    status=0
    "$@" >"$log" 2>&1 || status=$?
    seconds=$(($(date +%s) - start))
    if [ "$status" = 3 ]; then
        skip "$stack" "$what" "$(reason "$log")"
        return
    fi
    tail -n 1 "$log"
    if [ "$status" != 0 ]; then
        echo "$stack, $what: exit status $status; the whole output is in $log" >&2
        row "$stack" "$what" - - "$seconds" "FAILED: $(tail -n 1 "$log")"
        finish 1
    fi
    ran=$((ran + 1))
    # Such as `NAME: 625 pairs, 886 casts, ...` and `test result: ok. 92 passed; ...`.
    pairs=$(sed -n 's/.*: \([0-9]*\) pairs\{0,1\},.*/\1/p' "$log" | tail -n 1)
    casts=$(sed -n 's/.* pairs\{0,1\}, \([0-9]*\) casts\{0,1\}[ ,].*/\1/p' "$log" | tail -n 1)
    name=$(sed -n 's/: [0-9]* pairs\{0,1\},.*//p' "$log" | tail -n 1)
    # The driver and its version too.
    [ "$what" != verify ] || name=$(sed -n '1s/^[* ]*\(.*)\): .*/\1/p' "$folder/$stack-adapters.log")
    [ "$what" != suite ] || name=$(sed -n 's/^test result: ok\. \([0-9]* passed\);.*/\1/p' "$log" | tail -n 1)
    row "$stack" "$what" "${pairs:--}" "${casts:--}" "$seconds" "equal: $name"
}

# `wgpu-cast verify`, and the suite with --suites, on a backend; the other arguments are the command that sets the driver.
wgpu_stack() {
    stack=$1
    export WGPU_BACKEND="$2"
    shift 2
    log=$folder/$stack-adapters.log
    status=0
    "$@" "$cast" adapters >"$log" 2>&1 || status=$?
    if [ "$status" = 3 ]; then
        skip "$stack" verify "$(reason "$log")"
    elif ! grep -q '(' "$log"; then
        skip "$stack" verify "wgpu finds no adapter on the backend $WGPU_BACKEND"
    else
        check "$stack" verify "$@" "$cast" verify
        ! "$suites" || check "$stack" suite "$@" cargo test --release --locked --test device
    fi
    unset WGPU_BACKEND
}

# OpenGL alone, also for programs that choose among all backends.
without_vulkan() {
    env VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent "$@"
}

cast=${CARGO_TARGET_DIR:-target}/release/wgpu-cast
for stack in ${chosen:-$all}; do
    case $stack in
        vulkan | gl | metal | dx12 | swiftshader | mesa)
            cargo build --quiet --release --locked -p wgpu-cast-cli
            break
            ;;
    esac
done
for stack in ${chosen:-$all}; do
    case $stack in
        vulkan | metal | dx12) wgpu_stack "$stack" "$stack" env ;;
        gl) wgpu_stack gl gl without_vulkan ;;
        swiftshader) wgpu_stack swiftshader vulkan tests/stacks/swiftshader.sh ;;
        mesa) wgpu_stack mesa vulkan tests/stacks/mesa.sh ;;
        dawn) check dawn casts integrations/dawn/run.sh "$every" ;;
        dawn-swiftshader) check "$stack" casts tests/stacks/swiftshader.sh integrations/dawn/run.sh "$every" backend=vulkan ;;
        dawn-mesa) check "$stack" casts tests/stacks/mesa.sh integrations/dawn/run.sh "$every" backend=vulkan ;;
        msl | hlsl) check "$stack" kernels "tests/stacks/$stack.sh" ;;
    esac
done
if [ "$ran" = 0 ]; then
    echo 'NOT RUN: no stack could be run (see above)' >&2
    finish 3
fi
finish 0

#!/bin/sh
# Runs the kernels as Direct3D gets them: naga's translation to HLSL, compiled by DXC, Microsoft's compiler, to SPIR-V and run on the
# Vulkan driver of this machine. Every pair of numeric types in all layouts of plans, with tables and without, is compared with the
# CPU path. DXC also compiles each kernel to DXIL, which Direct3D runs and this machine does not. Then one constant is changed: the
# comparison must notice.
# Where glslang can be had, it compiles each kernel as a second compiler of HLSL, and its results are compared too. It refuses a few
# kernels, because it takes a constant array for recursion; their number is printed.
# naga writes the same text for shader model 5.1, which wgpu takes by default; the program checks that. FXC, the compiler that
# wgpu gives it to by default, is not run.
# DXC comes from the source package of PyPI's compushady (MIT; DXC itself has LLVM's licence), which is unpacked below target/stacks and
# not built. glslang is Debian's glslang-tools, also unpacked there unless it is installed.
# CXX names the C++ compiler; FROM the source types, separated by spaces (default: all).
# Exit status: 0, all bits are equal; 3, NOT RUN, and stderr's last line says why; others, a bit differs or a step failed.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target/stacks}
folder=target/stacks/hlsl
compiler=${CXX:-c++}
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"

not_run() {
    echo "NOT RUN: the kernels in Direct3D's language: $1" >&2
    exit 3
}

command -v "$compiler" >/dev/null 2>&1 || not_run "there is no C++ compiler ($compiler)"
[ "$(uname -s)" = Linux ] || not_run 'DXC is looked for on Linux only'
case $(uname -m) in
    x86_64 | aarch64) library=libdxcompiler_$(uname -m).so.3.7 ;;
    *) not_run "the package has no DXC for $(uname -m)" ;;
esac
dxc=target/stacks/dxc
if [ ! -f "$dxc/done" ]; then
    rm -rf "$dxc"
    mkdir -p "$dxc"
    python3 -m pip --version >/dev/null 2>&1 || not_run 'pip is missing'
    python3 -m pip download --quiet --disable-pip-version-check --no-binary :all: --no-deps -d "$dxc" compushady==0.17.5 \
        >"$dxc/log" 2>&1 || not_run "pip cannot download compushady (see $dxc/log)"
    tar -xzf "$dxc"/compushady-*.tar.gz -C "$dxc" --strip-components=3 --wildcards \
        '*/backends/dxcapi.h' '*/backends/WinAdapter.h' "*/backends/$library"
    rm "$dxc"/compushady-*.tar.gz
    touch "$dxc/done"
fi
# DXC's headers give warnings that are not ours.
"$compiler" -std=c++17 -O1 -w -isystem "$dxc" -o "$dxc/driver" tests/stacks/hlsl/dxc.cpp -ldl

glslang=$(command -v glslangValidator || echo target/stacks/glslang/usr/bin/glslangValidator)
if [ ! -x "$glslang" ] && command -v apt-get >/dev/null 2>&1; then
    rm -rf target/stacks/glslang
    mkdir -p target/stacks/glslang
    # As root, apt-get would download as a user that may not write here.
    ! (cd target/stacks/glslang && apt-get download -qq -o APT::Sandbox::User=root glslang-tools) ||
        dpkg -x target/stacks/glslang/*.deb target/stacks/glslang
fi
if [ -x "$glslang" ]; then
    set -- --glslang "$glslang"
else
    echo 'glslang is missing: the kernels are compiled by DXC only' >&2
    set --
fi

CARGO_TARGET_DIR=$target cargo build --release --locked --quiet --manifest-path tests/stacks/hlsl/Cargo.toml
program=$target/release/wgpu-cast-hlsl
rm -rf "$folder"
# shellcheck disable=SC2086 # types, one a word
"$program" "$folder" "$dxc/driver" "$dxc/$library" "$@" ${FROM:-}

status=0
"$program" "$folder" "$dxc/driver" "$dxc/$library" --fault float >target/stacks/hlsl-fault.log || status=$?
if [ "$status" != 1 ] || ! grep -q '^DXC: float->float16,' target/stacks/hlsl-fault.log; then
    tail -n 20 target/stacks/hlsl-fault.log >&2
    echo 'a changed constant was not noticed' >&2
    exit 1
fi
echo "a changed constant was noticed: $(grep '^DXC: float->float16,' target/stacks/hlsl-fault.log | head -n 1)"
rm -rf "$folder"

#!/bin/sh
# Runs the kernels as Direct3D gets them: naga's translation to HLSL, compiled by DXC, Microsoft's compiler, to SPIR-V and run on the
# Vulkan driver of this machine. Every pair of numeric types in all layouts of plans, with tables and without, is compared with the
# CPU path. DXC also compiles each kernel to DXIL, which Direct3D runs and this machine does not. Then one constant is changed: the
# comparison must notice.
# naga writes the same text for shader model 5.1, which wgpu takes by default; the program checks that. FXC, the compiler that wgpu
# gives that text to by default, compiles each kernel in Wine, and once more with the source in a writable buffer: vkd3d, Wine's
# Direct3D 12, makes SPIR-V of that, which is run and compared too.
# Where glslang can be had, it compiles each kernel as another compiler of HLSL, and its results are compared too. It refuses a few
# kernels, because it takes a constant array for recursion; their number is printed.
# All is unpacked below target/stacks. DXC comes from the source package of PyPI's compushady (MIT; DXC itself has LLVM's licence), which
# is not built; FXC, which Microsoft lets applications distribute, from PyPI's kivy_deps.angle; vkd3d is Debian's libvkd3d-shader1
# and glslang Debian's glslang-tools, unless it is installed. FXC needs Wine and a C compiler for Windows (Debian's wine64 and
# gcc-mingw-w64-x86-64).
# CXX and CC name the C++ and C compilers; FROM the source types, separated by spaces (default: all).
# Exit status: 0, all bits are equal; 3, NOT RUN, and stderr's last line says why; others, a bit differs or a step failed.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target/stacks}
folder=target/stacks/hlsl
compiler=${CXX:-c++}
for_windows=x86_64-w64-mingw32-gcc
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

# Downloads Debian packages and unpacks them in a new folder.
debian() { # folder, packages
    rm -rf "$1"
    mkdir -p "$1"
    unpacked=$1
    shift
    # As root, apt-get would download as a user that may not write here.
    (cd "$unpacked" && apt-get download -qq -o APT::Sandbox::User=root "$@") || return 1
    for package in "$unpacked"/*.deb; do
        dpkg -x "$package" "$unpacked"
    done
}

# Gets FXC and vkd3d. Where that cannot be, says why and returns 1.
fxc=target/stacks/fxc
fetch_fxc() {
    [ "$(uname -m)" = x86_64 ] || { echo 'it is for x86_64'; return 1; }
    for program in wine "$for_windows" apt-get; do
        command -v "$program" >/dev/null 2>&1 || { echo "there is no $program"; return 1; }
    done
    [ ! -f "$fxc/done" ] || return 0
    debian "$fxc/vkd3d" libvkd3d-shader1 libvkd3d-dev libvkd3d-headers >&2 &&
        cp "$fxc"/vkd3d/usr/lib/*/libvkd3d-shader.so.1 "$fxc" || { echo 'apt-get cannot download vkd3d'; return 1; }
    python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: --no-deps --platform win_amd64 \
        --python-version 3.10 -d "$fxc" kivy_deps.angle==0.5.0 >"$fxc/log" 2>&1 &&
        python3 -c 'import pathlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
(name,) = [name for name in wheel.namelist() if name.endswith("/d3dcompiler_47.dll")]
pathlib.Path(sys.argv[2]).write_bytes(wheel.read(name))' "$fxc"/*.whl "$fxc/d3dcompiler_47.dll" ||
        { echo "pip cannot download kivy_deps.angle (see $fxc/log)"; return 1; }
    rm "$fxc"/*.whl
    touch "$fxc/done"
}
set --
if why=$(fetch_fxc); then
    "$for_windows" -O1 -Wall -o "$fxc/fxc.exe" tests/stacks/hlsl/fxc.c
    # It finds vkd3d's library beside itself.
    "${CC:-cc}" -O1 -Wall -I "$fxc/vkd3d/usr/include/vkd3d" -o "$fxc/vkd3d-spirv" tests/stacks/hlsl/vkd3d.c \
        "$fxc/libvkd3d-shader.so.1" "-Wl,-rpath,\$ORIGIN"
    export WINEPREFIX="$PWD/$fxc/wine" WINEDEBUG=-all WINEDLLOVERRIDES='d3dcompiler_47=n;mscoree=;mshtml='
    # Makes Wine's folder, which two processes at a time cannot.
    wine "$fxc/fxc.exe" "$fxc/d3dcompiler_47.dll" </dev/null >"$fxc/log" 2>&1 || { cat "$fxc/log" >&2; exit 2; }
    set -- --fxc "$fxc"
else
    echo "NOT RUN: FXC: $why" >&2
    fxc=
fi

glslang=$(command -v glslangValidator || echo target/stacks/glslang/usr/bin/glslangValidator)
if [ ! -x "$glslang" ] && command -v apt-get >/dev/null 2>&1; then
    debian target/stacks/glslang glslang-tools || true
fi
if [ -x "$glslang" ]; then
    set -- "$@" --glslang "$glslang"
else
    echo 'NOT RUN: glslang, which is missing' >&2
    glslang=
fi

CARGO_TARGET_DIR=$target cargo build --release --locked --quiet --manifest-path tests/stacks/hlsl/Cargo.toml
program=$target/release/wgpu-cast-hlsl
rm -rf "$folder"
# shellcheck disable=SC2086 # types, one a word
"$program" "$folder" "$dxc/driver" "$dxc/$library" "$@" ${FROM:-}

status=0
"$program" "$folder" "$dxc/driver" "$dxc/$library" "$@" --fault float >target/stacks/hlsl-fault.log || status=$?
for compiler in DXC ${fxc:+FXC} ${glslang:+glslang}; do
    if [ "$status" != 1 ] || ! grep -q "^$compiler: float->float16," target/stacks/hlsl-fault.log; then
        tail -n 20 target/stacks/hlsl-fault.log >&2
        echo "a changed constant was not noticed ($compiler)" >&2
        exit 1
    fi
    echo "a changed constant was noticed: $(grep "^$compiler: float->float16," target/stacks/hlsl-fault.log | head -n 1)"
done
rm -rf "$folder"

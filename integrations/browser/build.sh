#!/bin/sh
# Builds the page in target/page and the npm package in target/npm. With --plans it builds only what of the package casts on devices of
# the caller's own, in target/npm-plans.
# Exit status: 3, NOT RUN, and stderr's last line says why.
set -eu
cd "$(dirname "$0")"

not_run() {
    echo "NOT RUN: the page in the browser: $1" >&2
    exit 3
}

command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || not_run 'node or npm is missing'
target=wasm32-unknown-unknown
rustup target list --installed 2>/dev/null | grep -q "$target" || rustup target add "$target" >/dev/null 2>&1 ||
    not_run "the target $target is missing, and rustup cannot add it"
[ -d node_modules/binaryen ] || npm ci --ignore-scripts --no-audit --no-fund --silent ||
    not_run 'npm cannot install the packages (see above)'

# Panics in the modules name files of source text. Without the folders of this machine, which would make them larger.
cargo fetch --locked --quiet --target "$target"
root=$(cd ../.. && pwd)
paths="'--remap-path-prefix=$root/='"
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    paths="$paths, '--remap-path-prefix=$registry='"
done

# Builds a module of a package in target/glue/NAME; further arguments go to cargo. Modules differ in settings of one profile, so that
# they share what they compile alike.
module() {
    glue=target/glue/$1
    rm -rf "$glue"
    package=$2
    shift 2
    file=$(echo "$package" | tr - _)
    cargo build --release --locked --quiet --target "$target" --config "target.$target.rustflags=[$paths]" --package "$package" "$@"
    # A program that runs for seconds is not worth optimizing.
    cargo run --release --locked --quiet --config profile.release.opt-level=0 --config profile.release.lto=false \
        --config profile.release.codegen-units=16 --package wgpu-cast-web-builder -- "target/$target/release/$file.wasm" "$glue"
    # Beside the next build, which links on one core. Not --all-features: Chromium refuses what that writes.
    optimize "$glue" "$file" &
    optimizing="$optimizing $!"
}
optimizing=''

optimize() { # folder, name of the file
    # Merged functions take more arguments, which loops of casts would pay for.
    merge=''
    [ "$2" != wgpu_cast_web_plans ] || merge=--merge-similar-functions
    # shellcheck disable=SC2086 # one word or none
    node_modules/.bin/wasm-opt $merge -Oz --strip-producers --strip-target-features \
        --enable-bulk-memory --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext \
        --enable-mutable-globals --enable-multivalue --enable-simd \
        "$1/$2_bg.wasm" -o "$1/optimized.wasm"
    mv "$1/optimized.wasm" "$1/$2_bg.wasm"
}

# Waits until all modules are optimized.
optimized() {
    for each in $optimizing; do
        wait "$each"
    done
}

# Copies the files of the package and modules to a folder.
package() {
    folder=target/$1
    shift
    rm -rf "$folder"
    mkdir -p "$folder"
    cp npm/* ../../LICENSE-MIT ../../LICENSE-APACHE "$folder/"
    for file in "$@"; do
        cp "target/glue/$file.js" "target/glue/$file.d.ts" "target/glue/${file}_bg.wasm" "$folder/"
    done
}

# Planning and composing text take microseconds; this module is to be small.
module plans wgpu-cast-web-plans --config 'profile.release.package.wgpu-cast.opt-level="z"'
if [ "${1:-}" = --plans ]; then
    optimized
    package npm-plans plans/wgpu_cast_web_plans
    exit
fi
module cpu wgpu-cast-web --no-default-features
# The whole module of the npm package. The loops of casts have SIMD only if the module that is linked has `opt-level` 2.
module gpu wgpu-cast-web --config profile.release.package.wgpu-cast-web.opt-level=2
optimized
package npm gpu/wgpu_cast_web plans/wgpu_cast_web_plans

rm -rf target/page
mkdir -p target/page
cp -r page/. target/page/
for name in cpu gpu; do
    mkdir "target/page/$name"
    cp "target/glue/$name/wgpu_cast_web.js" "target/glue/$name/wgpu_cast_web_bg.wasm" "target/page/$name/"
done

node sizes.mjs target/page target/npm

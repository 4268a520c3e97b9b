#!/usr/bin/env bash
# Copies oneDNN's sources into onednn/ from the package onednn-src of the Rust registry, or compares them with it:
#
#   update-sources.sh VERSION-OF-ONEDNN-SRC    0.1.22 contains oneDNN 3.14.1
#   update-sources.sh --check                  checks that every file of onednn/ equals the package's, byte for byte
#
# After an update, change: VERSION in build/bundled/config.rs, the lists in build/bundled/sources.rs, the bindings with
# update-bindings.sh; and make BUILD.md's check that no implementation is lost.
set -euo pipefail
cd "$(dirname "$0")"

package=0.1.22
if [ "${1:-}" != --check ]; then
    package=${1:?"usage: update-sources.sh VERSION | --check"}
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Cargo unpacks a package into the folder where it vendors it.
mkdir "$work/src"
touch "$work/src/lib.rs"
printf '[package]\nname = "fetch"\nedition = "2024"\n[dependencies]\nonednn-src = "=%s"\n' "$package" >"$work/Cargo.toml"
(cd "$work" && cargo vendor --quiet vendor >/dev/null)
from=$work/vendor/onednn-src/oneDNN

if [ "${1:-}" = --check ]; then
    count=0
    while IFS= read -r -d '' file; do
        cmp "onednn/$file" "$from/$file"
        count=$((count + 1))
    done < <(cd onednn && find . -type f -print0)
    echo "onednn: $count files are those of onednn-src $package"
    exit
fi

rm -rf onednn
mkdir onednn
# Without CMake's files, and without the folder that needs another library.
(cd "$from" && tar cf - --exclude=CMakeLists.txt --exclude=zen64 --exclude=README.md LICENSE THIRD-PARTY-PROGRAMS include \
    src/common src/cpu/*.cpp src/cpu/*.hpp src/cpu/{gemm,jit_utils,matmul,reorder,rnn,ukernel,x64} third_party/xbyak) |
    tar xf - -C onednn

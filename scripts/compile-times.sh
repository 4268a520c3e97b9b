#!/usr/bin/env bash
# Prints compile times, in seconds of processor time and of wall-clock time: scripts/compile-times.sh [PART...]
#
#   user     a fresh crate elsewhere with the one line in Cargo.toml, without oneDNN, Cargo's own dev profile
#   crate    this workspace's crate from an empty target folder, dependencies included, without oneDNN
#   release  the same in release
#   edit     after an edit in one op: that op's tests, compiled and run (needs the tests compiled before; done first)
#   onednn   oneDNN from an empty cache
#
# Without an argument, all parts run: about 15 minutes on two idle cores. Nothing else should run at the same time.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "${edited:-}" ] || git checkout -q -- "$edited"' EXIT
export CARGO_TERM_QUIET=true
unset CARGO_TARGET_DIR

# Runs a command and prints a line with its times.
timed() {
    local name=$1
    shift
    local TIMEFORMAT='%R %U %S'
    local times
    times=$({ time "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; } 2>&1) || { echo "$times" >&2; exit 1; }
    awk -v name="$name" '{ printf "%-10s %7.1f s of processor time, %7.1f s by the clock\n", name, $2 + $3, $1 }' <<<"$times"
}

part_user() {
    mkdir -p "$work/fresh/src"
    printf '[package]\nname = "fresh"\nedition = "2024"\n[dependencies]\nblocktensor = { path = "%s", default-features = false }\n' \
        "$root" >"$work/fresh/Cargo.toml"
    printf 'fn main() {\n    println!("{:?}", blocktensor::Layout::native());\n}\n' >"$work/fresh/src/main.rs"
    cp Cargo.lock "$work/fresh/"
    (cd "$work/fresh" && cargo fetch && timed user cargo build)
}

part_crate() { timed crate cargo build --no-default-features --target-dir "$work/crate"; }

part_release() { timed release cargo build --no-default-features --release --target-dir "$work/release"; }

part_edit() {
    local target=${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target
    cargo test --no-default-features --test main --target-dir "$target" --no-run
    edited=src/ops/softmax.rs
    git diff --quiet -- "$edited" || { echo "compile-times: $edited has changes of yours" >&2; exit 1; }
    # A real edit: a comment alone would not change the machine code.
    sed -i '0,/^pub fn softmax/s//#[inline(never)]\npub fn softmax/' "$edited"
    timed edit cargo test --no-default-features --test main --target-dir "$target" -- ops::softmax
    git checkout -q -- "$edited"
    edited=
}

part_onednn() {
    BLOCKTENSOR_CACHE=$work/cache timed onednn cargo build -p blocktensor-onednn-sys --target-dir "$work/onednn"
}

[ $# -gt 0 ] || set -- user crate release edit onednn
for part in "$@"; do
    case $part in
        user | crate | release | edit | onednn) "part_$part" ;;
        *)
            echo "usage: scripts/compile-times.sh [user] [crate] [release] [edit] [onednn]" >&2
            exit 2
            ;;
    esac
done

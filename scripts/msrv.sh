#!/usr/bin/env bash
# Compiles everything with the oldest Rust that Cargo.toml promises (rust-version). If the Rust in use is that version, the
# tests themselves are the check. If rustup cannot install it, prints a warning; with --strict that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
used=$(rustc --version | cut -d' ' -f2)
if [ "${used%.*}" = "$oldest" ]; then
    echo "msrv: Rust $used is in use, the oldest that is promised: all that compiles is its check"
    exit
fi
if ! cargo "+$oldest.0" --version >/dev/null 2>&1 \
    && ! rustup toolchain install --no-self-update --profile minimal "$oldest.0" >/dev/null 2>&1; then
    echo "msrv: NOT CHECKED: Rust $used is in use, and rustup could not bring $oldest.0." >&2
    [ "${1:-}" != --strict ]
    exit
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}
ONEDNN_DIR=$(scripts/onednn-prefix.sh)
export ONEDNN_DIR
export CARGO_TARGET_DIR=$CARGO_TARGET_DIR/msrv
# Without oneDNN nothing compiles but stubs that is not compiled here.
cargo "+$oldest.0" check --locked --no-default-features --features system --workspace --all-targets
echo "msrv: everything compiles with Rust $oldest.0"

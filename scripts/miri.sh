#!/usr/bin/env bash
# Runs the plain-Rust parts under Miri: dims, layouts and their offsets, reorders, strided views, storage, the
# registry. Installs Miri for rustup's nightly. It runs without oneDNN, which Miri does not support. Miri does not support
# rayon's queues either (each section runs on its caller), nor `gemm`, mapped files and processor modes, so tests that need
# those are not in the list.
set -euo pipefail
cd "$(dirname "$0")/.."

installed=$(rustup component list --toolchain nightly --installed 2>/dev/null || true)
if ! grep -q '^miri' <<<"$installed" || ! grep -q '^rust-src' <<<"$installed"; then
    rustup toolchain install nightly --no-self-update --profile minimal --component miri,rust-src
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}
export CARGO_TARGET_DIR=$CARGO_TARGET_DIR/miri
miri() { cargo +nightly miri test --no-default-features "$@"; }

miri --lib -- layout:: buffer:: dtype:: elementwise::plan elementwise::tile simd:: tensor::reorder a_dirty_tail_is_found
miri --test main -- dlpack::dlpack layout:: tensor::chains tensor::blocked dispatch::registry \
    --skip calls_by_name_and_typed_calls_give_the_same_result

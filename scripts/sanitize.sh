#!/usr/bin/env bash
# Runs the workspace's tests under one of rustc's sanitizers: `address` (which includes LeakSanitizer) or `leak`. All Rust
# code is instrumented, except the standard library. oneDNN is not instrumented (its calls of malloc, memcpy and such are
# checked), nor is the code that it generates. The tests link the oneDNN of the normal build, so it is not compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-address}
case $kind in
    address | leak) ;;
    *)
        echo "sanitize: usage: scripts/sanitize.sh [address|leak]" \
            "(thread would need a standard library compiled for it: nightly's -Zbuild-std)" >&2
        exit 2
        ;;
esac

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}
ONEDNN_DIR=$(scripts/onednn-prefix.sh)
export ONEDNN_DIR
# With --target the flags do not apply to build scripts and macros. The sanitizers do not need a nightly compiler, only its
# consent.
target=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=$CARGO_TARGET_DIR/sanitizers RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=$kind" RUSTDOCFLAGS="-Zsanitizer=$kind"
# Tests request impossible sizes; these must be refused, and must not end the program.
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1
export LSAN_OPTIONS=print_suppressions=0
# Our own code is unoptimised: an optimised build took over 8 minutes of CPU time for the library alone.
export CARGO_INCREMENTAL=0
# Left out: a C program and Python. They load the shared library, and would have to load the sanitizer themselves. And a test
# that compares addresses of locals with the stack: the sanitizer keeps locals elsewhere.
cargo test --no-fail-fast --config profile.test.package.blocktensor.opt-level=0 --target "$target" --workspace --no-default-features --features system -- \
    --skip a_c_program_runs_a_chain_and_meets_five_errors \
    --skip a_python_script_with_ctypes_runs_blocked_convolutions \
    --skip what_is_left_is_what_a_thread_was_started_with_less_what_it_uses

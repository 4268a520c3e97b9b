#!/usr/bin/env bash
# Runs a part of the test suite under valgrind's memcheck, with the AVX2 kernels, because valgrind does not support AVX-512.
# Any error fails, and so does leaked memory. The other tests take hours under valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}
features=()
if [ -n "${ONEDNN_DIR:-}" ]; then
    features=(--no-default-features --features system)
fi
scripts/setup.sh bundled test
# Cargo's messages name the programs.
built=$(scripts/with-progress.sh cargo test "${features[@]}" --lib --test main --no-run 2>&1 | tee /dev/stderr)
program() { sed -n "s/^ *Executable.*$1.* (\(.*\))$/\1/p" <<<"$built"; }

export ONEDNN_MAX_CPU_ISA=AVX2 RAYON_NUM_THREADS=2
# Shorter translation blocks than valgrind's default: some of oneDNN's generated code has longer blocks than valgrind can
# hold.
check() {
    valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
        --vex-guest-max-insns=25 "$@" --test-threads=1
}
check "$(program unittests)" buffer:: layout:: onednn:: simd:: tensor:: elementwise:: ops:: matmul:: ledger::
check "$(program tests/main.rs)" dispatch:: dlpack:: file::packed file::state_dict file::damaged layout:: ledger:: onednn:: \
    ops::cat ops::conv:: pack:: tensor::

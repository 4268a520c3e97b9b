#!/usr/bin/env bash
# Builds the fuzz targets and runs each for the given number of seconds: scripts/fuzz.sh SECONDS [TARGET...]
#
# Needs rustup and a C++ compiler; installs rustup's nightly and cargo-fuzz. FUZZ_JOBS targets run at a time (1). Results
# stay in CARGO_TARGET_DIR/fuzz: corpus, artifacts, logs. The exit status is 1 after a crash.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.13.2
all=(strided_views op_arguments gradients packed_file safetensors c_calls dlpack onnx_model)
if ! [[ ${1:-} =~ ^[0-9]+$ ]]; then
    echo "usage: scripts/fuzz.sh SECONDS [TARGET...], of ${all[*]}" >&2
    exit 2
fi
seconds=$1
shift
targets=("${@:-${all[@]}}")
for t in "${targets[@]}"; do
    if [[ " ${all[*]} " != *" $t "* ]]; then
        echo "fuzz: no target $t; there are ${all[*]}" >&2
        exit 2
    fi
done

if ! rustup run nightly rustc --version >/dev/null 2>&1; then
    rustup toolchain install nightly --no-self-update --profile minimal
fi
if [ "$(cargo fuzz --version 2>/dev/null)" != "cargo-fuzz $version" ]; then
    cargo install cargo-fuzz --version "$version" --locked
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}
ONEDNN_DIR=$(scripts/onednn-prefix.sh)
export ONEDNN_DIR CARGO_TARGET_DIR=$CARGO_TARGET_DIR/fuzz

# With several codegen units: with one, the library takes four times as long to compile.
for t in "${targets[@]}"; do
    RUSTFLAGS="-Ccodegen-units=16 ${RUSTFLAGS:-}" cargo +nightly fuzz build --sanitizer address "$t"
done

host=$(rustc +nightly -vV | sed -n 's/^host: //p')
logs=$CARGO_TARGET_DIR/logs
mkdir -p "$logs"

run() {
    local t=$1 corpus=$CARGO_TARGET_DIR/corpus/$1 found=$CARGO_TARGET_DIR/artifacts/$1 status=0
    mkdir -p "$corpus" "$found"
    ASAN_OPTIONS=detect_odr_violation=0:allocator_may_return_null=1:quarantine_size_mb=16 \
        "$CARGO_TARGET_DIR/$host/release/$t" "$corpus" "fuzz/seeds/$t" -max_total_time="$seconds" -max_len=1024 -timeout=300 \
        -rss_limit_mb=4096 -artifact_prefix="$found/" -print_final_stats=1 >"$logs/$t.log" 2>&1 || status=$?
    echo "$status" >"$logs/$t.status"
    echo "fuzz: $t ended with status $status" >&2
}
export -f run
export seconds logs host
echo "fuzz: ${#targets[@]} targets for $seconds seconds each, ${FUZZ_JOBS:-1} at a time; logs in $logs" >&2
printf '%s\0' "${targets[@]}" | xargs -0 -P "${FUZZ_JOBS:-1}" -I{} bash -c 'run {}'

crashes=0
printf '%-14s %12s %8s %8s %8s  %s\n' target executions per_s coverage corpus result
for t in "${targets[@]}"; do
    log=$logs/$t.log
    stat() { sed -n "s/^stat::$1: *//p" "$log"; }
    last() { grep -o "$1: [0-9]*" "$log" | tail -1 | sed 's/.* //'; }
    result="no crash"
    if [ "$(cat "$logs/$t.status")" != 0 ]; then
        result=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        result="CRASH ${result:-see $log}"
        crashes=$((crashes + 1))
    fi
    printf '%-14s %12s %8s %8s %8s  %s\n' "$t" "$(stat number_of_executed_units)" "$(stat average_exec_per_sec)" \
        "$(last cov)" "$(find "$CARGO_TARGET_DIR/corpus/$t" -type f | wc -l)" "$result"
done
[ "$crashes" = 0 ]

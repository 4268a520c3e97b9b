#!/usr/bin/env bash
# Prints the prefix of a oneDNN to link with the feature `system`: ONEDNN_DIR, else the newest that a normal build of this
# workspace compiled, which is done first where there is none. For builds with flags of their own (fuzzing, sanitizers), which
# would compile it once more each.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${ONEDNN_DIR:-}" ]; then
    echo "$ONEDNN_DIR"
    exit
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}

newest() {
    find "$CARGO_TARGET_DIR/debug/build" -path '*/onednn-src-*/out/lib*/libdnnl.a' -printf '%T@ %p\n' 2>/dev/null |
        sort -rn | sed -n '1s/^[^ ]* //p'
}

if [ -z "$(newest)" ]; then
    scripts/setup.sh bundled >&2
    # Without flags of the caller's: they are for the caller's own build.
    env -u RUSTFLAGS -u RUSTUP_TOOLCHAIN scripts/with-progress.sh cargo build --lib >&2
fi
library=$(newest)
if [ -z "$library" ]; then
    echo "onednn-prefix: no libdnnl.a in $CARGO_TARGET_DIR/debug/build after a build" >&2
    exit 1
fi
dirname "$(dirname "$library")"

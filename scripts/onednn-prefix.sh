#!/usr/bin/env bash
# Prints the prefix of a oneDNN to link with the feature `system`: ONEDNN_DIR, or otherwise the oneDNN that this workspace
# compiles. It is compiled first if this machine has none yet. Other programs may link it too.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${ONEDNN_DIR:-}" ]; then
    echo "$ONEDNN_DIR"
    exit
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}
scripts/setup.sh bundled >&2
# Without the caller's flags: they are for the caller's own build.
messages=$(env -u RUSTFLAGS -u RUSTUP_TOOLCHAIN scripts/with-progress.sh \
    cargo build -p blocktensor-onednn-sys --message-format json)
# The build script's message names the library's folder.
prefix=$(sed -n 's/.*"reason":"build-script-executed".*onednn-sys.*"linked_paths":\[[^]]*"native=\([^"]*\/onednn\/[^"]*\)\/lib".*/\1/p' <<<"$messages" | tail -1)
if [ ! -e "$prefix/lib/libdnnl.a" ]; then
    echo "onednn-prefix: no library at '$prefix/lib' after a build" >&2
    exit 1
fi
echo "$prefix"

#!/usr/bin/env bash
# Regenerates src/bindings.rs and src/bindings_threadpool.rs from the headers of the oneDNN in ONEDNN_DIR, which must have
# the THREADPOOL runtime. Without ONEDNN_DIR it uses the bundled oneDNN, which is compiled first. Needs libclang.
set -euo pipefail
cd "$(dirname "$0")"
features=(--features buildtime_bindgen)
[ -z "${ONEDNN_DIR:-}" ] || features=(--no-default-features --features "system buildtime_bindgen")
ONEDNN_SYS_UPDATE_BINDINGS=1 cargo test "${features[@]}" --test bindings
git --no-pager diff --stat -- src || true

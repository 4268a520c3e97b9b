#!/bin/sh
# Builds the package of the provider for ONNX Runtime, and tests it with onnxruntime in an environment in the user's cache.
#
#   scripts/onnxruntime_ep.sh wheel    the wheel alone, in dist/ of the target folder
#   scripts/onnxruntime_ep.sh test     the wheel, installed and tested
#
# ONNXRUNTIME=1.23.2 tests with another version than the one below, in an environment of its own. LIBRARY=/folder packs the library that
# `make test` has compiled there. HEADERS=/folder has onnxruntime_cxx_api.h, for the program in C++: ONNX Runtime's archives have it, and
# no package of Python.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh

onnxruntime="${ONNXRUNTIME:-1.32.0}"
package=blocktensor-onnxruntime-ep
# Not `library`, which `check_wheel` sets.
so=libonnxruntime_ep_blocktensor.so

tools
[ -n "${LIBRARY:-}" ] || cargo build --release --locked --package "$package"

# The package is put together outside the checkout.
staged="$CARGO_TARGET_DIR/onnxruntime-ep"
rm -rf "$staged" "$dist"/onnxruntime_ep_blocktensor-*.whl
mkdir -p "$dist"
cp -RL crates/onnxruntime-ep/python "$staged"
cp "${LIBRARY:-$CARGO_TARGET_DIR/release}/$so" "$staged/onnxruntime_ep_blocktensor/"
strip --strip-unneeded "$staged/onnxruntime_ep_blocktensor/$so"
cargo pkgid --package "$package" | sed 's/.*[#@]//' >"$staged/VERSION"
"$tools/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$staged/dist" "$staged"
# The platform of the tag: the oldest whose symbols suffice.
PATH="$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir "$dist" "$staged"/dist/*.whl
wheel=$(ls "$dist"/onnxruntime_ep_blocktensor-*.whl)
check_wheel "$wheel" "onnxruntime_ep_blocktensor/$so" CreateEpFactories ReleaseEpFactory
[ "${1:-test}" = wheel ] && exit 0

(cd crates/onnxruntime-ep/python && "$tools/bin/mypy" --cache-dir "$staged/mypy")
apart="$cache/onnxruntime-$onnxruntime-env"
environment "$apart" "onnxruntime==$onnxruntime" onnx 'numpy>=2' pytest
"$apart/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
# The same library with its features for tests: a struct that is read beyond its end crashes, and convolutions are refused. Then the plain
# one again, where users look for it.
if [ -n "${LIBRARY:-}" ]; then
    set -- --profile test --workspace --lib --tests
else
    set -- --release --package "$package"
fi
cargo build --locked "$@" --features "$package/guard-pages,$package/refusals"
cp "${LIBRARY:-$CARGO_TARGET_DIR/release}/$so" "$staged/"
cargo build --locked "$@"
# Nothing of earlier plannings. oneDNN is built with the user's folder above: without one it would be compiled again.
export BLOCKTENSOR_CACHE=off
ep=$("$apart/bin/python" -c 'import onnxruntime_ep_blocktensor as ep; print(ep.get_library_path())')
"$apart/bin/python" -m pytest -q -p no:cacheprovider crates/onnxruntime-ep/python/tests
"$apart/bin/python" scripts/onnxruntime_ep.py --quick "$ep"

"$apart/bin/python" scripts/onnxruntime_ep.py "$staged/$so" halves shapes partial control compiled life

if [ -z "${HEADERS:-}" ]; then
    echo "run_model.cpp: left out, as HEADERS names no folder with onnxruntime_cxx_api.h"
else
    capi=$("$apart/bin/python" -c 'import onnxruntime as ort; print(ort.__path__[0])')/capi
    ln -s "$capi"/libonnxruntime.so.?.* "$staged/libonnxruntime.so.1"
    # Version 1.23 looks for it beside the first.
    ln -s "$capi/libonnxruntime_providers_shared.so" "$staged/"
    "${CXX:-c++}" -std=c++17 -Wall -Werror -isystem "$HEADERS" crates/onnxruntime-ep/examples/run_model.cpp \
        "$staged/libonnxruntime.so.1" -o "$staged/run_model"
    for model in resnet mobilenet unet densenet; do
        LD_LIBRARY_PATH="$staged" "$staged/run_model" "$ep" "tests/data/onnx_models/$model.onnx"
    done
fi

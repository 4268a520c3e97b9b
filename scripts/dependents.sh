#!/usr/bin/env bash
# Builds and runs README's first program in a separate crate whose manifest has only one line of dependency:
#
#   scripts/dependents.sh [path] [release] [resolver1] [git] [package] [vendor]
#
# path, release, resolver1   a path dependency; the same in release; the same with Cargo's first resolver
# git                        this commit, fetched from a repository
# package                    the package that `cargo package` makes, unpacked
# vendor                     every crate copied by `cargo vendor`, without network access
#
# Fails if one does not build or run, or if any but the first compiles oneDNN again. All of them take about ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CARGO_TARGET_DIR
awk '/^```rust/ { on = 1; next } /^```/ { if (on) exit } on' README.md >"$work/main.rs"

# Makes a crate called $1 whose dependency on blocktensor is $2; $3 holds further lines of its manifest.
crate() {
    mkdir -p "$work/$1/src"
    cp "$work/main.rs" "$work/$1/src/"
    cp Cargo.lock "$work/$1/"
    printf '[package]\nname = "%s"\nedition = "2024"\n%b\n[dependencies]\nblocktensor = %s\n' "$1" "${3:-}" "$2" >"$work/$1/Cargo.toml"
    cd "$work/$1"
}

# Runs the program of the crate in this folder, and checks its output.
run() {
    local name=$1 start=$SECONDS
    shift
    cargo run -vv "$@" >out 2>err || { tail -30 err >&2; exit 1; }
    grep -q '^op `matmul` has no kernel for dispatch key `blocked`' out
    local compiled
    compiled=$(grep -c 'oneDNN: .* files compiled' err || true)
    echo "$name: built and ran in $((SECONDS - start)) s; oneDNN was $([ "$compiled" = 0 ] && echo not compiled || echo compiled)"
    [ "$compiled" = 0 ] || [ -n "${first:-}" ]
    first=
}

one() {
    case $1 in
        path) crate path "{ path = \"$root\" }" && run path ;;
        release) crate release "{ path = \"$root\" }" && run release --release ;;
        resolver1) crate resolver1 "{ path = \"$root\" }" 'resolver = "1"' && run resolver1 ;;
        git) crate git "{ git = \"file://$root\", rev = \"$(git -C "$root" rev-parse HEAD)\" }" && run git ;;
        package)
            (cd "$root" && cargo package --quiet --allow-dirty --no-verify --target-dir "$work/packages" -p blocktensor-onednn-sys -p blocktensor)
            for each in "$work"/packages/package/*.crate; do
                tar xzf "$each" -C "$work"
                echo "package: $(basename "$each") has $(stat -c %s "$each") bytes"
            done
            crate package "{ path = \"$work/blocktensor-0.1.0\" }" \
                "[patch.crates-io]\nblocktensor-onednn-sys = { path = \"$work/blocktensor-onednn-sys-0.1.0\" }\n"
            run package
            ;;
        vendor)
            crate vendored "{ git = \"file://$root\", rev = \"$(git -C "$root" rev-parse HEAD)\" }"
            mkdir .cargo
            cargo vendor --quiet vendor >.cargo/config.toml
            run vendor --offline
            ;;
        *)
            sed -n '2,11p' "$root/scripts/dependents.sh" >&2
            exit 2
            ;;
    esac
    cd "$root"
}

first=yes
[ $# -gt 0 ] || set -- path release resolver1 git package vendor
for each in "$@"; do
    one "$each"
done

#!/usr/bin/env bash
# Checks licences, sources and versions of all dependencies against deny.toml, and RustSec's advisories about them. If
# RustSec's database cannot be fetched, prints a warning; with --strict that is an error. Installs cargo-deny, once per
# machine.
# To use a mirror of the database: git config --global url.MIRROR.insteadOf https://github.com/RustSec/advisory-db
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.20.2
database=https://github.com/RustSec/advisory-db
strict=
case "${1:-}" in
    '') ;;
    --strict) strict=yes ;;
    *)
        echo "deny: usage: scripts/deny.sh [--strict]" >&2
        exit 2
        ;;
esac

deny=cargo-deny
is_wanted() { [ "$("$deny" --version 2>/dev/null)" = "cargo-deny $version" ]; }
if ! is_wanted; then
    tools=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor/target}/tools
    deny=$tools/bin/cargo-deny
    if ! is_wanted; then
        echo "deny: compiling cargo-deny $version, once for this machine: 2 to 4 minutes on two cores" >&2
        env -u CARGO_TARGET_DIR -u RUSTFLAGS cargo install --quiet --locked --root "$tools" "cargo-deny@$version"
    fi
fi

"$deny" --locked --workspace check licenses bans sources

export GIT_TERMINAL_PROMPT=0
copies=("${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/advisory-db-*)
if timeout 60 git ls-remote --quiet "$database" HEAD >/dev/null 2>&1; then
    "$deny" --locked --workspace check advisories
elif [ -d "${copies[0]}" ]; then
    echo "deny: $database cannot be reached; the copy of $(git -C "${copies[0]}" log -1 --format=%cs) is used" >&2
    "$deny" --frozen --workspace check advisories
else
    echo "deny: ADVISORIES NOT CHECKED: $database cannot be reached, and no copy of it is here." >&2
    [ -z "$strict" ]
fi

#!/usr/bin/env bash
# Runs a command that may compile oneDNN on its way, which Cargo does without a word: says so when it starts, and every
# half minute how far it is.
set -uo pipefail

target=${CARGO_TARGET_DIR:-target}
every=${ONEDNN_PROGRESS_SECONDS:-30}

watch() {
    local dir each sources objects last=0 said=
    while sleep 2; do
        # The build directory of a oneDNN that is being compiled right now: nothing installed yet, and new object files.
        dir=
        for each in "$target"/*/build/onednn-src-*/out/build "$target"/*/*/build/onednn-src-*/out/build; do
            if [ -d "$each" ] && [ ! -e "$each/../lib/libdnnl.a" ] && [ ! -e "$each/../lib64/libdnnl.a" ] \
                && [ -n "$(find "$each" -name '*.o' -newer "$stamp" -print -quit 2>/dev/null)" ]; then
                dir=$each
            fi
        done
        [ -n "$dir" ] || continue
        if [ -z "$said" ]; then
            said=yes
            last=$SECONDS
            echo "oneDNN is being compiled, once for this machine: $((12 / cores)) to $((26 / cores)) minutes on $cores cores, by their age." >&2
            echo "(With an installed oneDNN 3: make demo ONEDNN_DIR=/its/prefix needs no compiling.)" >&2
        elif [ $((SECONDS - last)) -ge "$every" ]; then
            last=$SECONDS
            sources=$(cat "$dir/onednn-sys/sources" 2>/dev/null || echo '?')
            objects=$(find "$dir" -name '*.o' -not -path '*/CMakeScratch/*' | wc -l)
            echo "oneDNN: $objects of $sources files compiled" >&2
        fi
    done
}

cores=$(nproc 2>/dev/null || echo 2)
stamp=$(mktemp)
watch &
watcher=$!
trap 'kill "$watcher" 2>/dev/null; rm -f "$stamp"' EXIT
"$@"

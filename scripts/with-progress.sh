#!/usr/bin/env bash
# Runs a command that may compile oneDNN, which Cargo does silently: prints a message when the compilation starts, and its
# progress every half minute. The build script of vendor/onednn-sys writes the file that is read here.
set -uo pipefail

cache=${BLOCKTENSOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/blocktensor}/onednn
every=${ONEDNN_PROGRESS_SECONDS:-30}

watch() {
    local file last=0 said=
    while sleep 2; do
        file=$(find "$cache" -path '*.partial/progress' -newer "$stamp" 2>/dev/null | head -1)
        [ -n "$file" ] || continue
        if [ -z "$said" ]; then
            said=yes
            last=$SECONDS
            echo "oneDNN is being compiled, once for this machine: 3 to 4 minutes on two cores." >&2
            echo "(With an installed oneDNN 3: make demo ONEDNN_DIR=/its/prefix needs no compiling.)" >&2
        elif [ $((SECONDS - last)) -ge "$every" ]; then
            last=$SECONDS
            read -r count units 2>/dev/null <"$file" && echo "oneDNN: $count of $units files compiled" >&2
        fi
    done
}

stamp=$(mktemp)
watch &
watcher=$!
trap 'kill "$watcher" 2>/dev/null; rm -f "$stamp"' EXIT
"$@"

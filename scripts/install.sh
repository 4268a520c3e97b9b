#!/usr/bin/env bash
# Installs the C and C++ headers, the shared and the static library, and the package files for pkg-config and CMake. `make
# install` calls it. The argument is the folder of the compiled libraries. PREFIX is /usr/local by default; DESTDIR, if set,
# is put before it.
set -euo pipefail
libraries=$(realpath "$1")
cd "$(dirname "$0")/.."

prefix=${PREFIX:-/usr/local}
case $prefix in
/*) ;;
*) echo "install: PREFIX is $prefix, but it must be an absolute path" >&2 && exit 1 ;;
esac
for library in libblocktensor_c.so libblocktensor_c.a; do
    if [ ! -f "$libraries/$library" ]; then
        echo "install: $libraries has no $library: build it with cargo build --release -p blocktensor-capi" >&2
        exit 1
    fi
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# What a program needs beside the static library.
private="-lstdc++ -lm -lpthread -ldl"
if [ -n "${ONEDNN_DIR:-}" ]; then
    private="-L$ONEDNN_DIR/lib -ldnnl $private"
fi

to=${DESTDIR:-}$prefix
# Fills a template in: its name, the private libraries, and the folder.
fill() { sed -e "s|@prefix@|$prefix|" -e "s|@version@|$version|" -e "s|@private@|$2|" "capi/package/$1.in" >"$3/$1"; }
install -d "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/blocktensor"
install -m 644 capi/include/blocktensor.h capi/include/blocktensor.hpp "$to/include"
install -m 644 "$libraries/libblocktensor_c.a" "$to/lib"
install -m 755 "$libraries/libblocktensor_c.so" "$to/lib"
fill blocktensor.pc "$private" "$to/lib/pkgconfig"
fill blocktensorConfig.cmake "${private// /;}" "$to/lib/cmake/blocktensor"
fill blocktensorConfigVersion.cmake "$private" "$to/lib/cmake/blocktensor"
echo "installed blocktensor $version in $to"

#!/usr/bin/env bash
# exports.sh LIBRARY: the CUDA runtime in it is its own: nothing of it is seen from outside, and no other is needed.
set -euo pipefail
seen=$(nm -D "$1" | grep -E ' _*(cuda|cu)[A-Z]' || true)
[[ -z $seen ]] || { echo "$1 shows or needs the runtime's symbols:"; echo "$seen" | head; exit 1; }
needed=$(readelf -d "$1" | grep -E 'NEEDED.*libcu' || true)
[[ -z $needed ]] || { echo "$1 needs CUDA's libraries, which are not everywhere: $needed"; exit 1; }

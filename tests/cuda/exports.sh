#!/usr/bin/env bash
# exports.sh LIBRARY: the library links the CUDA runtime statically: it exports none of its symbols
# and needs no other CUDA library.
set -euo pipefail
seen=$(nm -D "$1" | grep -E ' _*(cuda|cu)[A-Z]' || true)
if [[ -n $seen ]]; then
  echo "$1 exports or imports symbols of the CUDA runtime:"
  echo "$seen" | head
  exit 1
fi
needed=$(readelf -d "$1" | grep -E 'NEEDED.*libcu' || true)
[[ -z $needed ]] || { echo "$1 must not depend on CUDA libraries but needs: $needed"; exit 1; }

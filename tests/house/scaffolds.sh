#!/usr/bin/env bash
# scaffolds.sh BUILD: what `tenon new` writes, of each kind, builds against the build tree and passes its own tests, with warnings as errors.
# An operator's scaffold has its own test and tenon check, and the one for CUDA is compiled by nvcc where there is one.
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work"

kinds=$("$build/tenon" new --help | sed -n 's/.*--kind KIND [^:]*: \(.*\) (default.*/\1/p' | sed 's/ or / /; s/,//g')
(($(wc -w <<<"$kinds") >= 6)) || { echo "tenon new --help names fewer kinds than there were: $kinds"; exit 1; }
build_type=()  # the first is optimized, as it is by itself; the others take half the time without
for kind in $kinds; do
  echo "== $kind"
  "$build/tenon" new "my_$kind" --kind "$kind"
  cmake -S "my_$kind" -B "$kind" "-DTenon_DIR=$build/cmake" "-DTENON_PROGRAM=$build/tenon" "${build_type[@]}" -DCMAKE_CXX_FLAGS=-Werror >"$kind.log" || { cat "$kind.log"; exit 1; }
  cmake --build "$kind" >"$kind.log" 2>&1 || { cat "$kind.log"; exit 1; }
  ctest --test-dir "$kind" --output-on-failure >"$kind.log" || { cat "$kind.log"; exit 1; }
  tests=$(grep -oP 'out of \K[0-9]+' "$kind.log")
  [[ $kind == application ]] && least=1 || least=2
  ((tests >= least)) || { echo "$kind has $tests tests"; exit 1; }
  build_type=(-DCMAKE_BUILD_TYPE=Debug)
done

#!/usr/bin/env bash
# scaffolds.sh BUILD: each kind of scaffold of `tenon new` builds against the build tree, with
# warnings as errors, and passes its own tests. An operator's scaffold has a test and runs tenon
# check; the CUDA scaffold is compiled if nvcc is available.
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work"

kinds=$("$build/tenon" new --help | sed -n 's/.*--kind KIND [^:]*: \(.*\) (default.*/\1/p' |
  sed 's/ or / /; s/,//g')
(($(wc -w <<<"$kinds") >= 6)) ||
  { echo "tenon new --help names fewer kinds than there were: $kinds"; exit 1; }
# the first one uses the default, which is optimized; the others use half the time without
# optimization
build_type=()
for kind in $kinds; do
  echo "== $kind"
  "$build/tenon" new "my_$kind" --kind "$kind"
  cmake -S "my_$kind" -B "$kind" "-DTenon_DIR=$build/cmake" "-DTENON_PROGRAM=$build/tenon" \
    "${build_type[@]}" -DCMAKE_CXX_FLAGS=-Werror >"$kind.log" || { cat "$kind.log"; exit 1; }
  cmake --build "$kind" >"$kind.log" 2>&1 || { cat "$kind.log"; exit 1; }
  ctest --test-dir "$kind" --output-on-failure >"$kind.log" || { cat "$kind.log"; exit 1; }
  tests=$(grep -oP 'out of \K[0-9]+' "$kind.log")
  [[ $kind == application ]] && least=1 || least=2
  ((tests >= least)) || { echo "$kind has only $tests tests"; exit 1; }
  build_type=(-DCMAKE_BUILD_TYPE=Debug)
done

#!/usr/bin/env bash
# headers.sh COMPILER: every public header compiles on its own, and abi.h also as C11, except those
# that need CUDA. The old paths of headers, which only include the new ones, compile together.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
compiles() {
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Isdk/include -Ihost/include -x c++ - < <(printf '#include <tenon/%s>\n' "$@") ||
    { echo "does not compile by itself: <tenon/$*>"; return 1; }
}
export -f compiles
export compiler
sdk=$(cd sdk/include/tenon && find . -name '*.hpp' -not -path ./elementwise/device/cuda.hpp -not -path './gpu/*')
host=$(cd host/include/tenon && find . -name '*.hpp')
old=()
for header in $(sort <<<"$host"); do
  new=tenon/host/${header#./}
  if [[ $(grep -v '^//' "host/include/tenon/$header") == $'#pragma once\n'"#include <$new>" ]]; then old+=("${header#./}"); fi
done
((${#old[@]})) || { echo "no headers with old paths were found"; exit 1; }
compiles "${old[@]}"
printf '%s\n' $sdk $host | sed 's#^\./##' | grep -vxF "$(printf '%s\n' "${old[@]}")" | xargs -P "$(nproc)" -I{} bash -c 'compiles {}'
# Old paths in the SDK work without host/include, as before.
printf '#include <tenon/%s>\n' lanes.hpp launcher.hpp |
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Isdk/include -x c++ -
echo '#include <tenon/abi.h>' | "$compiler" -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Isdk/include -x c -

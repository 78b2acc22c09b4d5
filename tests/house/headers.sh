#!/usr/bin/env bash
# headers.sh COMPILER: every public header compiles on its own, and abi.h also as C11, except those
# that need CUDA. The old paths of headers, which only include the new ones, compile together, and
# so do those in subfolders of the SDK, which authors do not include, in both orders. The SDK's
# headers compile in a copy of the SDK outside of the checkout.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r sdk/include/. "$copy"
compiles() {  # HEADER...; with the host's headers if `host` is set
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$copy" \
    ${host:+-Ihost/include} -x c++ - < <(printf '#include <tenon/%s>\n' "$@") ||
    { echo "does not compile by itself: <tenon/$*>"; return 1; }
}
each_compiles() {  # reads headers
  xargs -P "$(nproc)" -I{} bash -c 'compiles {}'
}
export -f compiles
export compiler copy
sdk=$(cd sdk/include/tenon && ls *.hpp)
internal=$(cd sdk/include/tenon && find detail elementwise -name '*.hpp' \
  -not -path elementwise/device/cuda.hpp)
of_host=$(cd host/include/tenon && find . -name '*.hpp')
old=()
for header in $(sort <<<"$of_host"); do
  new=tenon/host/${header#./}
  if [[ $(grep -v '^//' "host/include/tenon/$header") == $'#pragma once\n'"#include <$new>" \
    ]]; then old+=("${header#./}"); fi
done
((${#old[@]})) || { echo "no headers with old paths were found"; exit 1; }
host=yes compiles "${old[@]}"
sed 's#^\./##' <<<"$of_host" | grep -vxF "$(printf '%s\n' "${old[@]}")" | host=yes each_compiles
each_compiles <<<"$sdk"
compiles $(sort <<<"$internal")
compiles $(sort -r <<<"$internal")
echo '#include <tenon/abi.h>' |
  "$compiler" -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$copy" -x c -

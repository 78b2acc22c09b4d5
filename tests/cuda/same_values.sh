#!/usr/bin/env bash
# same_values.sh COMPILER FOLDER: constants of the simulated runtime have the same values as in
# CUDA's own headers, which are in FOLDER.
set -euo pipefail
header=$(dirname "$0")/simulated/include/cuda_runtime_api.h
names=$(grep -oP '\bcuda\w+(?= = \d+\b)' "$header")
[[ $(wc -w <<<"$names") -gt 60 ]] || { echo "found too few names in $header"; exit 1; }
{
  echo '#include <cuda_runtime_api.h>'
  grep -oP '\bcuda\w+ = \d+\b' "$header" |
    sed -E 's/(.*) = (.*)/static_assert(\1 == \2, "different value in CUDA: \1");/'
} | "$1" -std=c++20 -fsyntax-only -I"$2" -x c++ -

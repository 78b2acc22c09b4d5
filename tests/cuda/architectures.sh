#!/usr/bin/env bash
# architectures.sh NVCC: an elementwise operator and a .cu compile for every default architecture.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in plugins/elementwise/quadratic.cpp plugins/random/draws.cu; do
  output=$work/$(basename "$source").so
  "$1" -std=c++20 -O2 -x cu -shared -Xcompiler=-fPIC,-Wall,-Wextra -Werror=all-warnings \
    -Isdk/include -Iplugins/random \
    -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90,code=[sm_90,compute_90] \
    "$source" -o "$output"
  dump=$(dirname "$1")/cuobjdump
  [[ -x $dump ]] ||
    { echo "$source compiles; cuobjdump is missing, so its result is not checked"; continue; }
  images=$("$dump" --list-elf --list-ptx "$output")
  for image in sm_75.cubin sm_80.cubin sm_90.cubin sm_90.ptx; do
    grep -q "$image" <<<"$images" || { echo "$source has no $image: $images"; exit 1; }
  done
done

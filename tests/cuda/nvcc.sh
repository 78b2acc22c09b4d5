#!/usr/bin/env bash
# nvcc.sh NVCC COMPILER PART: compiles CUDA sources with the toolkit, for one architecture: those of
# a bundled plugin, or, if PART is `host`, those of the device layer, also without CUDA. Nothing is
# linked: the stage `cuda` builds everything.
set -euo pipefail
nvcc=$1 compiler=$2 part=$3
cd "$(dirname "$0")/../.."
toolkit=$(realpath "$(dirname "$(realpath "$nvcc")")/../include")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kernels() { # FOLDER OPTION...
  local folder=$1
  shift
  for source in "$folder"/*.cu; do
    "$nvcc" -std=c++20 -arch=sm_90 -O1 -Xcicc=-O1 -Xptxas=-O1 -DTENON_CUDA_SOURCE -Isdk/include \
      "$@" -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra -Werror=all-warnings \
      -c "$source" -o "$work/object.o"
  done
}
if [[ $part == host ]]; then
  kernels host/device/cuda -Ihost -Ihost/include
  check=("$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DFMT_SHARED -Isdk/include
    -Ihost -Ihost/include)
  for source in host/device/cuda/*.cpp; do echo "#include \"$PWD/$source\""; done |
    "${check[@]}" -isystem "$toolkit" -x c++ -
  "${check[@]}" host/device/without_cuda.cpp
else
  kernels "plugins/$part" -Iplugins -I"plugins/$part"
fi

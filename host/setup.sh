#!/usr/bin/env bash
# setup.sh [--tests]: installs the missing Debian packages that building Tenon needs (with --tests,
# also those of its tests). Needs root or sudo only if packages are missing. Does not install CUDA:
# Tenon uses nvcc if it finds it.
set -euo pipefail

packages=(g++ cmake ninja-build ccache libboost-dev libelf-dev nlohmann-json3-dev libflatbuffers-dev
  flatbuffers-compiler libtbb-dev libfmt-dev libcli11-dev libxxhash-dev nettle-dev zlib1g-dev
  libdlpack-dev libprotozero-dev libdnnl-dev libopenblas-dev graphviz)
if [[ ${1:-} == --tests ]]; then
  packages+=(mold doxygen doctest-dev libbenchmark-dev libeigen3-dev valgrind clang clang-format
    clang-tidy pkg-config dpkg-dev openssh-client python3-dev python3-numpy python3-scipy
    python3-venv libonnx-testdata openmpi-bin libopenmpi-dev libsimgrid-dev)
fi

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian system; nothing is installed. On Debian 12 Tenon is built" \
    "with these packages: ${packages[*]}" >&2
  exit 0
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
    missing+=("$package")
done
((${#missing[@]})) || exit 0

root=()
if ((EUID != 0)); then
  if ! sudo -n true 2>/dev/null && ! { [[ -t 0 ]] && command -v sudo >/dev/null; }; then
    echo "setup: installing the missing packages needs root. Run this command, then try again:" >&2
    echo "    apt-get install ${missing[*]}" >&2
    exit 1
  fi
  root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
# A fresh machine has no package lists, or old ones.
"${root[@]}" apt-get update -q >&2
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install \
  -q -y --no-install-recommends "${missing[@]}" >&2

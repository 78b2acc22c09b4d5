#!/usr/bin/env bash
# Runs ranks.sh with an MPI that has the standard ABI, and without the plugins that were compiled
# for older ones. standard_abi.sh BUILD FOLDER [MOST]: FOLDER has that MPI's bin/mpirun and
# lib/libmpi_abi.so.1.
set -euo pipefail
build=$(realpath "$1") mpi=$(realpath "$2") most=${3:-4}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/plugins"
cp "$build"/{tenon,tenon-probe,libtenon.so.1} "$work"
cp "$build"/plugins/*.so "$work/plugins"
rm -f "$work"/plugins/tenon_comm_{openmpi,mpich}.so
export LD_LIBRARY_PATH=$work:$mpi/lib
bash "$here/ranks.sh" "$work" "$mpi/bin/mpirun" "$most"
# If the MPI library is missing, the error names it.
said=$(LD_LIBRARY_PATH=$work "$mpi/bin/mpirun" -n 2 "$work/tenon" --trust-writable \
  call ranks 2>&1) && { echo "FAILED: without the library"; exit 1; }
grep -q \
  'add the folder of its libmpi_abi.so.1 .MPICH 5 and later. or libmpich.so.12 to LD_LIBRARY_PATH' \
  <<<"$said" ||
  { echo "FAILED: $said"; exit 1; }

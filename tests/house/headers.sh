#!/usr/bin/env bash
# headers.sh COMPILER: every public header compiles when it is included alone, and abi.h as C11 too; all but those that need CUDA.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
alone() {
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Isdk/include -Ihost/include -x c++ - <<<"#include <tenon/$1>" ||
    { echo "<tenon/$1> does not compile alone"; return 1; }
}
export -f alone
export compiler
{ cd sdk/include/tenon && find . -name '*.hpp' -not -path ./elementwise/device/cuda.hpp -not -path './gpu/*'; cd ../../../host/include/tenon && find . -name '*.hpp'; } |
  sed 's#^\./##' | sort | xargs -P "$(nproc)" -I{} bash -c 'alone {}'
echo '#include <tenon/abi.h>' | "$compiler" -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Isdk/include -x c -

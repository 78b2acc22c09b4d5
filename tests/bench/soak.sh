#!/usr/bin/env bash
# soak.sh [SECONDS]: runs bench_soak with 64 threads on one host for ten minutes, then with 16
# threads for two minutes under ThreadSanitizer. Not part of ctest.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
cmake --preset default >/dev/null
cmake --build build --target bench_soak tenon_plugins tenon_examples >/dev/null
build/tests/bench_soak "$seconds" 64
cmake --preset tsan -DTENON_BUILD_BENCH=ON >/dev/null
cmake --build build-tsan --target bench_soak tenon_plugins tenon_examples >/dev/null
TSAN_OPTIONS="allocator_may_return_null=1 halt_on_error=1 suppressions=$PWD/tests/tsan.supp" \
  build-tsan/tests/bench_soak $((seconds / 5)) 16

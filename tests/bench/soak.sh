#!/usr/bin/env bash
# 64 threads on one host for ten minutes (bench_soak), then 16 threads for two under ThreadSanitizer. Not part of ctest: soak.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
cmake --preset default >/dev/null
cmake --build build --target bench_soak tenon_plugins tenon_examples >/dev/null
build/tests/bench_soak "$seconds" 64
cmake --preset tsan -DTENON_BUILD_BENCH=ON >/dev/null
cmake --build build-tsan --target bench_soak tenon_plugins tenon_examples >/dev/null
TSAN_OPTIONS="allocator_may_return_null=1 halt_on_error=1 suppressions=$PWD/tests/tsan.supp" build-tsan/tests/bench_soak $((seconds / 5)) 16

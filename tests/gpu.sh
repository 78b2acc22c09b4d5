#!/usr/bin/env bash
# Everything that needs a GPU, in under 8 minutes, from a build folder made elsewhere; nothing is built, and the folder may have been moved.
# gpu.sh [BUILD]: `build` where it is left out. Says at the end what ran and what did not. Exits 1 where something failed, 77 where there
# is no GPU.
set -uo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" 2>/dev/null && pwd) || { echo "gpu.sh: there is no folder ${1:-build}; name one that was built" >&2; exit 2; }
tests=$build/tests
for program in "$build/tenon" "$tests/test_cuda"; do
  [[ -x $program ]] || { echo "gpu.sh: there is no $program; build with -DTENON_CUDA=ON first" >&2; exit 2; }
done
export LD_LIBRARY_PATH=$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
most=470 # seconds of all steps together
summary=()
result=0

# step NAME SECONDS COMMAND...: its output is shown; 77 is a skipped test, which has said why.
step() {
  local name=$1 limit=$2 begin=$SECONDS left=$((most - SECONDS)) code
  shift 2
  ((left >= 1)) || { summary+=("FAILED   $name: no time was left"); result=1; return; }
  echo "== $name"
  timeout -k 5 $((limit < left ? limit : left)) "$@"
  code=$?
  case $code in
    0) summary+=("passed   $name ($((SECONDS - begin)) s)") ;;
    77) summary+=("skipped  $name: there is no GPU"); ((result)) || result=77 ;;
    124 | 137) summary+=("FAILED   $name: not done in time ($((SECONDS - begin)) s)"); result=1 ;;
    *) summary+=("FAILED   $name (exit code $code): $*"); result=1 ;;
  esac
}

step doctor 60 "$build/tenon" doctor
step "device layer, without a GPU" 60 "$tests/test_cuda" --host
step "device layer" 90 "$tests/test_cuda"
step "a lost device" 60 "$tests/test_cuda" --lost-device
for plugin in "$build"/plugins/tenon_{elementwise,*_cuda}.so; do  # the others have no CUDA kernels of their own
  [[ ! -e $plugin ]] || ((result == 77)) ||
    step "check $(basename "$plugin")" 150 "$build/tenon" --trust-writable --plugins "$build/plugins" check --device cuda "$plugin"
done
if [[ -x $tests/test_plugins ]] && ((result != 77)); then
  # Those that call operators by hand; what kernels refuse there is told by the host, in other words.
  step "plugins' own tests" 120 env TENON_TEST_DEVICE=cuda "$tests/test_plugins" -tce='*refuse*' \
    -sf='*convolution*,*elementwise*,*embedding*,*fully_connected*,*gradients.cpp,*losses*,*matmul*,*normalization*,*optim*,*pooling*,*random*,*/reduce*,*/shape*,*softmax*'
fi
for bench in elementwise chain training; do
  program=$tests/bench_cuda_$bench
  if [[ ! -x $program ]]; then
    summary+=("skipped  benchmark of $bench: it was not built (Google Benchmark is missing)")
  elif ((result != 77)); then
    step "benchmark of $bench" 60 "$program" --benchmark_min_time=0.2
  fi
done
sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer)
for tool in memcheck racecheck; do
  if [[ -z $sanitizer ]]; then
    summary+=("skipped  $tool: compute-sanitizer is missing; it comes with the CUDA toolkit")
  elif ((result == 77)); then
    summary+=("skipped  $tool: there is no GPU")
  else
    # Refused allocations are what some tests are about.
    step "$tool" 60 "$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 9 "$tests/test_cuda"
  fi
done

echo
printf '%s\n' "${summary[@]}"
case $result in
  0) echo "gpu.sh: all passed in $SECONDS s" ;;
  77) echo "gpu.sh: there is no GPU; what needs one was skipped" ;;
  *) echo "gpu.sh: FAILED after $SECONDS s" ;;
esac
exit $result

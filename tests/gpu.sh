#!/usr/bin/env bash
# Everything that needs a GPU, in under 8 minutes, from a build folder made elsewhere; nothing is built, and the folder may have been moved.
# gpu.sh [--out FOLDER] [BUILD]: `build` where it is left out. FOLDER (else $OUT, else none) gets what each step printed, and the summary.
# gpu.sh --pack [BUILD]: where it was built, puts the libraries that it needs into BUILD/libraries, for a machine that has only a driver;
# but for those of CUDA's toolkit, whose size is up to you.
# No step stops the next. Says at the end what ran, what did not, and how the figures are to their goals. Exits 1 where something failed,
# 77 where there is no GPU.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-}
pack=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --pack) pack=yes ;;
    --out) out=${2:?gpu.sh: --out needs a folder}; shift ;;
    *) echo "gpu.sh: there is no option $1; it has --out FOLDER and --pack" >&2; exit 2 ;;
  esac
  shift
done
build=$(cd "${1:-build}" 2>/dev/null && pwd) || { echo "gpu.sh: there is no folder ${1:-build}; name one that was built" >&2; exit 2; }
tests=$build/tests
for program in "$build/tenon" "$tests/test_cuda"; do
  [[ -x $program ]] || { echo "gpu.sh: there is no $program; build with -DTENON_CUDA=ON first" >&2; exit 2; }
done
shopt -s nullglob
binaries=("$build"/{tenon,tenon-probe} "$build"/libtenon*.so "$build"/plugins/*.so "$tests"/{test_cuda,test_plugins,bench_cuda_*} "$tests"/gpu_operators/*.so)
if [[ -n $pack ]]; then
  mkdir -p "$build/libraries"
  ldd "${binaries[@]}" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
    grep -vE "^$build/|/(libc|libm|libdl|librt|libpthread|libcu[^/]*|libnv[^/]*)\.so" | xargs -r cp -Lt "$build/libraries"
  du -sh "$build/libraries"
  exit 0
fi
mkdir -p "$tests/tenon" && ln -sfn ../../tenon-probe ../../plugins "$tests/tenon/" # tests look there, and links may be lost on the way
export LD_LIBRARY_PATH=$build:$build/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}:/usr/local/cuda/lib64
if [[ -z $out ]]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out" && out=$(cd "$out" && pwd) || { echo "gpu.sh: $out cannot be written; name another folder with --out" >&2; exit 2; }
most=465 # seconds of all steps together
result=0
: >"$out/summary.txt"

say() { printf '%s\n' "$*" >>"$out/summary.txt"; }

# run NAME SECONDS COMMAND...: prints nothing; the output goes to NAME.log, the exit code to NAME.code.
run() {
  local name=$1 limit=$2 left=$((most - SECONDS))
  shift 2
  rm -f "$out/$name.code"
  if ((left >= 1)); then
    timeout -k 5 $((limit < left ? limit : left)) "$@" >"$out/$name.log" 2>&1
    echo "$? $SECONDS" >"$out/$name.code"
  else
    echo "no time was left" >"$out/$name.log"
    echo "124 $SECONDS" >"$out/$name.code"
  fi
}

# tell NAME BEGIN: what came of it; 77 is a skipped test, which has said why.
tell() {
  local name=$1 code end
  read -r code end <"$out/$name.code"
  echo "== $name"
  cat "$out/$name.log"
  case $code in
    0) say "passed   $name ($((end - $2)) s)" ;;
    77) say "skipped  $name: there is no GPU"; ((result)) || result=77 ;;
    124 | 137) say "FAILED   $name: not done in time ($((end - $2)) s)"; result=1 ;;
    *) say "FAILED   $name (exit code $code): $(grep -aE 'error|ERROR|FAILED|CRASHED' "$out/$name.log" | head -1)"; result=1 ;;
  esac
}

step() {
  local begin=$SECONDS
  run "$@"
  tell "$1" "$begin"
}

# figure FILE NAME KEY: of the median of a benchmark's repetitions.
figure() {
  awk -v name="\"name\": \"$2" -v key="\"$3\":" '/"name":/ {found = index($0, name) && /_median"/}
    found && index($0, key) {gsub(/[",]/, ""); printf "%.4g", $2; exit}' "$out/$1.json" 2>/dev/null
}

# told BENCHMARK KEY: the same of a training step, or a word where nothing tells it.
told() {
  local value
  value=$(figure bench_training "train_step/$1" "$2")
  printf '%s' "${value:-(not told)}"
}

# goal WORDS VALUE COMPARISON BOUND [UNIT]
goal() {
  if [[ -z $2 ]]; then say "no figure  $1 (goal: $3 $4)"; ((result == 77)) || result=1; return; fi
  if awk "BEGIN {exit !($2 $3 $4)}"; then say "reached    $1: $2 (goal: $3 $4)"; else say "MISSED     $1: $2 (goal: $3 $4)"; result=1; fi
}

ratio() { [[ -z $1 || -z $2 ]] || awk "BEGIN {printf \"%.3f\", $1 / $2}"; }

# Without those a program says nothing that helps.
ldd "${binaries[@]}" 2>/dev/null | awk '/^\// {file = $1} /not found/ {print file, $1}' | grep -v 'libtenon' >"$out/missing.txt"
while read -r file library; do say "missing  $library, for $(basename "${file%:}")"; done <"$out/missing.txt"

step doctor 30 "$build/tenon" doctor
! command -v nvidia-smi >/dev/null || step nvidia-smi 20 nvidia-smi
step host 30 "$tests/test_cuda" --host
step steady_state 60 "$tests/test_cuda" -tc='steady*'

# The figures first: they need the GPU alone, and are what is wanted most.
for bench in elementwise chain training; do
  program=$tests/bench_cuda_$bench
  if [[ ! -x $program ]]; then
    say "skipped  benchmark of $bench: it was not built (Google Benchmark is missing)"
  elif ((result != 77)); then
    step "bench_$bench" 60 "$program" --benchmark_min_time=0.2 --benchmark_repetitions=3 --benchmark_report_aggregates_only=true \
      --benchmark_out="$out/bench_$bench.json"
  fi
done

step device_layer 60 "$tests/test_cuda"
step lost_device 20 "$tests/test_cuda" --lost-device
step lost_session 20 "$tests/test_cuda" --lost-session

# Each operator's kernels against the CPU's: most of it is processes that start, so all plugins at once.
if ((result != 77)); then
  begin=$SECONDS
  names=()
  for plugin in "$build"/plugins/tenon_{elementwise,*_cuda}.so; do  # the others have no CUDA kernels of their own
    names+=("check_$(basename "$plugin" .so)")
    run "${names[-1]}" 150 "$build/tenon" --trust-writable --plugins "$build/plugins" check --device cuda "$plugin" &
  done
  if [[ -x $tests/test_plugins ]]; then
    # Those that call operators by hand; what kernels refuse there is told by the host, in other words.
    names+=(plugins)
    run plugins 150 env TENON_TEST_DEVICE=cuda "$tests/test_plugins" -tce='*refuse*' \
      -sf='*convolution*,*elementwise*,*embedding*,*fully_connected*,*gradients.cpp,*losses*,*matmul*,*normalization*,*optim*,*pooling*,*random*,*/reduce*,*/shape*,*softmax*' &
  else
    say "FAILED   plugins: there is no $tests/test_plugins; build all tests, as the preset default does"
    result=1
  fi
  wait
  for name in "${names[@]}"; do tell "$name" "$begin"; done
fi

sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer)
for tool in memcheck racecheck; do
  if [[ -z $sanitizer ]]; then
    say "skipped  $tool: compute-sanitizer is missing; it comes with the CUDA toolkit"
  elif ((result == 77)); then
    say "skipped  $tool: there is no GPU"
  else
    # Refused allocations are what some tests are about.
    step "$tool" 60 "$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 9 "$tests/test_cuda"
  fi
done

if ((result != 77)); then
  say
  copied=$(figure bench_elementwise device_copy bytes_per_second)
  for each in one_input/quadratic one_input/gelu two_inputs/add; do
    goal "$each, bytes a second over a copy's" "$(ratio "$(figure bench_elementwise $each bytes_per_second)" "$copied")" '>=' 0.9
  done
  goal "chain of 1,000, a session's time over a captured graph's" \
    "$(ratio "$(figure bench_chain session real_time)" "$(figure bench_chain captured_by_hand real_time)")" '<=' 1.1
  for network in mlp convnet; do
    say "$network: a training step takes $(told ${network}_cuda real_time) us (on the CPU $(told ${network}_cpu real_time) us)," \
      "with $(told ${network}_cuda kernel_us) us in $(told ${network}_cuda kernels) kernels," \
      "$(told ${network}_cuda library) of that in libraries' kernels; a kernel runs for $(told ${network}_cuda busy) of the step"
    say "$network: $(told ${network}_cuda waits) waits and $(told ${network}_cuda allocations) allocations of CUDA in a training step;" \
      "within a run there are to be none (steady_state)"
  done
fi
case $result in
  0) say "gpu.sh: all passed in $SECONDS s" ;;
  77) say "gpu.sh: there is no GPU; what needs one was skipped" ;;
  *) say "gpu.sh: FAILED after $SECONDS s" ;;
esac
echo
cat "$out/summary.txt"
exit $result

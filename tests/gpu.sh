#!/usr/bin/env bash
# gpu.sh [--call CALL] [--out FOLDER] [BUILD]: runs everything that needs a GPU and
# reports the results.
#   BUILD   a build folder, which may have been moved, or an archive made by --pack; default:
#           `build`. Nothing is built.
#   FOLDER  gets summary.txt, the benchmarks' figures and logs.tar.xz; default: $OUT
#   CALL    one of three test runs of at most ten minutes:
#           first   whether everything works, and how fast (default)
#           second  the rest of compute-sanitizer's checks
#           third   Nsight Compute's profiles of single kernels
# A step that fails does not stop the others. The exit code is 1 if a step failed, 77 without a GPU,
# and 2 for wrong usage.
#
# gpu.sh --pack FILE.tar.xz [--limit MIB] [BUILD] writes an archive for a machine with the driver
# and CUDA's own libraries, for which PyTorch's will do. With kernels for one architecture it is
# smaller than the default limit of 60 MiB. With -lineinfo, sanitizers report lines of kernels:
#   cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=90-real -DCMAKE_CUDA_FLAGS=-lineinfo
#   cmake --build build-cuda
#   bash tests/gpu.sh --pack gpu.tar.xz build-cuda
# The other machine needs nothing else, because the archive contains this script:
#   tar xf gpu.tar.xz && bash tests/gpu.sh --out results .
set -uo pipefail
shopt -s nullglob
most=560 # seconds of one call, so that ten minutes also suffice for the transfers
call=first out=${OUT:-} pack='' limit=60

refuse() {
  echo "gpu.sh: $*" >&2
  exit 2
}

while [[ ${1:-} == --* ]]; do
  [[ $1 =~ ^--(call|out|pack|limit)$ ]] ||
    refuse "unknown option $1; use --call, --out, --pack or --limit"
  [[ -n ${2:-} ]] || refuse "$1 needs a value"
  declare "${1#--}=$2"
  shift 2
done
[[ $call =~ ^(first|second|third)$ ]] || refuse "unknown call '$call'; use first, second or third"
[[ $limit =~ ^[1-9][0-9]{0,5}$ ]] || refuse "--limit is '$limit' but must be a number of MiB"
place=${1:-$(dirname "$0")/../build}
script=$(realpath "$0")
part=
work=$(mktemp -d) || refuse "cannot create a temporary folder; choose another location with TMPDIR"
trap 'rm -rf "$work" "$part"' EXIT
if [[ -f $place ]]; then
  mkdir "$work/build"
  tar xf "$place" --no-same-owner -C "$work/build" 2>"$work/why" ||
    python3 -m tarfile -e "$place" "$work/build" >/dev/null 2>&1 ||
    refuse "$place cannot be unpacked: $(head -1 "$work/why")"
  place=$work/build
fi
build=$(cd "$place" 2>/dev/null && pwd) ||
  refuse "there is no $place; specify a build folder or an archive"
[[ -z $pack ]] || pack=$(realpath -m "$pack")
[[ -n $out ]] || out=$work/out
out=$(mkdir -p "$out" && cd "$out" && pwd) ||
  refuse "$out is not writable; choose another folder with --out"
cd "$build" || exit 2
programs=(tenon tenon-probe tenon-worker tests/test_cuda tests/test_plugins)
benches=(tests/bench_cuda_elementwise tests/bench_cuda_chain tests/bench_cuda_training)
for program in "${programs[@]}"; do
  [[ -x $program ]] || refuse "there is no $build/$program; build with -DTENON_CUDA=ON first"
done
binaries=("${programs[@]}" tests/bench_cuda_* libtenon.so.[0-9] plugins/*.so
  tests/gpu_operators/*.so)

# Libraries of the C and C++ compilers are left out: they would take precedence over the other
# machine's newer ones and break its programs. CUDA's libraries are too large.
left_behind='ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+'
left_behind="($left_behind|libcu[^/]*|libnv[^/]*)[-.]"

make_pack() {
  local tree=$work/pack each size written
  for each in "${benches[@]}" tests/libcupti.so; do
    [[ -e $each ]] || refuse "there is no $build/$each; build with Google Benchmark and CUPTI"
  done
  part=$pack.part
  { : >"$part"; } 2>/dev/null || refuse "$pack is not writable"
  LC_ALL=C ldd "${binaries[@]}" >"$work/libraries" 2>/dev/null
  ! grep 'not found' "$work/libraries" >"$work/why" ||
    refuse "this machine lacks a library: $(head -1 "$work/why" | xargs)"
  for each in "${binaries[@]}"; do
    mkdir -p "$tree/$(dirname "$each")"
    strip --strip-unneeded -o "$tree/$each" "$each" || refuse "$build/$each could not be stripped"
  done
  mkdir "$tree/libraries"
  awk '$2 == "=>" {print $3}' "$work/libraries" | sort -u | grep -vE "^$build/|/$left_behind" |
    xargs -r cp -Lt "$tree/libraries"
  cp "$script" tests/libcupti.so "$tree/tests"
  find "$tree" -type f -printf '%s %P\n' | sort -k 2 |
    awk '{printf "%7.2f MiB  %s\n", $1 / 2 ^ 20, $2}'
  tar -C "$tree" --owner=0 --group=0 -c . | xz -T0 | head -c $(((limit << 20) + 1)) >"$part"
  written=("${PIPESTATUS[@]}")
  size=$(stat -c %s "$part")
  ((size <= limit << 20)) ||
    refuse "$pack would exceed $limit MiB, the limit set by --limit; build for one architecture"
  [[ ${written[*]} == "0 0 0" ]] || refuse "$pack cannot be written"
  mv "$part" "$pack" || refuse "$pack cannot be written"
  awk -v size="$size" -v file="$pack" 'BEGIN {printf "%7.2f MiB  %s\n", size / 2 ^ 20, file}'
}
if [[ -n $pack ]]; then
  make_pack
  exit 0
fi

logs=$work/logs
mkdir "$logs"
: >"$out/summary.txt"
result=0
gpu=yes
declare -A lacking=() # file: missing libraries, without which it cannot be loaded

say() { printf '%s\n' "$*" >>"$out/summary.txt"; }

# However this script ends, it stops all processes that it started and writes the results so far.
end() {
  local code=$? nothing="there is no GPU; steps that need one were skipped"
  [[ -z $gpu ]] || nothing="required programs or libraries are missing"
  trap '' HUP INT TERM
  # shellcheck disable=SC2046
  kill $(jobs -p) 2>/dev/null
  wait
  case $code in
    0) say "gpu.sh: all passed in $SECONDS s" ;;
    77) say "gpu.sh: $nothing" ;;
    1) say "gpu.sh: FAILED after $SECONDS s" ;;
    *) say "gpu.sh: interrupted after $SECONDS s" ;;
  esac
  tar cJf "$out/logs.tar.xz" -C "$work" logs 2>/dev/null ||
    python3 -m tarfile -c "$out/logs.tar.xz" "$logs" 2>/dev/null
  echo
  cat "$out/summary.txt"
  rm -rf "$work"
  exit "$code"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# run NAME SECONDS COMMAND...: prints nothing; writes the output to NAME.log, and the exit code and
# the end time to NAME.code. Runs in the background; if it is terminated, it terminates its command.
run() {
  local name=$1 left=$((most - 5 - SECONDS)) limit=$2
  shift 2
  ((limit < left)) || limit=$left
  if ((limit < 1)); then
    echo "not started: out of time" >"$logs/$name.log"
    echo "124 $SECONDS" >"$logs/$name.code"
    return
  fi
  trap 'kill $! 2>/dev/null; wait; exit' HUP INT TERM
  timeout -k 5 "$limit" "$@" >"$logs/$name.log" 2>&1 &
  wait $!
  echo "$? $SECONDS" >"$logs/$name.code"
}

# tell NAME BEGIN: reports the result; 77 is a skipped test, whose output has the reason.
tell() {
  local name=$1 log=$logs/$1.log code end
  read -r code end <"$logs/$name.code"
  echo "== $name"
  cat "$log"
  [[ $name != check_* ]] || ((code != 0)) || grep -q PASSED "$log" ||
    ! grep -q 'there is no device' "$log" || code=77
  case $code in
    0) say "passed   $name ($((end - $2)) s)" ;;
    77) say "skipped  $name: there is no GPU"; gpu= ;;
    124 | 137)
      say "FAILED   $name: timed out after $((end - $2)) s at:$(reached "$log")"
      result=1
      ;;
    *)
      say "FAILED   $name (exit code $code):" \
        "$(grep -aE 'error|ERROR|FAILED|CRASHED|=== [A-Z]|look here$' "$log" | head -1)"
      result=1
      ;;
  esac
  [[ $code == 0 ]] || failed_cases "$log" | sed '20q; s/^/         /' >>"$out/summary.txt"
}

# failed_cases LOG: prints the names of a test program's failed cases.
failed_cases() {
  awk '/^TEST CASE:/ {name = $0; sub(/^TEST CASE: */, "", name)}
    /ERROR: / && name != last {print last = name}' "$1"
}

# reached LOG: prints the operators that a check reached, and the last case of a test.
reached() {
  grep -aE '^[a-z0-9_]+$' "$1" | sed 's/^/ /' | tr -d '\n'
  grep -aE '^[0-9.]+ s: ' "$1" | tail -1 | sed 's/^[^:]*://'
}

step() {
  local begin=$SECONDS
  run "$@" &
  wait $!
  tell "$1" "$begin"
}

# The loader is queried, because some libraries are only opened by name on first use.
look_for_libraries() {
  local file library folder found
  local -A users=()
  local folders=(/usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib
    /usr/local/cuda*/extras/CUPTI/lib64)
  mapfile -t -O "${#folders[@]}" folders < <(
    python3 -c 'import glob, sys
[print(f) for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")]' 2>/dev/null
  )
  export LD_LIBRARY_PATH=$build:$build/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for folder in "${folders[@]}"; do
    [[ ! -d $folder ]] || LD_LIBRARY_PATH+=:$folder
  done
  for file in "${binaries[@]}"; do
    for library in $(LC_ALL=C ldd "$file" 2>/dev/null |
      awk '/=> not found/ {print $1}' | sort -u); do
      lacking[$file]+=" $library"
      users[$library]+=" ${file##*/}"
    done
    [[ $file == plugins/* ]] || continue
    for library in $(grep -aoE '\blib(cu|nv)[A-Za-z_]+\.so\.[0-9]+' "$file" |
      sort -u | grep -v '^libcuda\.'); do
      [[ " ${users[$library]:-} " == *" ${file##*/} "* ]] || users[$library]+=" ${file##*/}"
    done
  done
  ((${#users[@]} == 0)) || for library in $(printf '%s\n' "${!users[@]}" | sort); do
    found=$(LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$library "$BASH" 2>/dev/null |
      awk -v name="$library" '$1 == name && $3 ~ /^\// {print $3; exit}')
    if [[ -n $found ]]; then
      say "found    $library: $found"
    else
      say "missing  $library, for${users[$library]}"
    fi
  done
  LC_ALL=C ldd "${binaries[@]}" 2>&1 | grep -o 'version .* not found' | sort -u |
    while read -r found; do say "missing  $found"; done
}

bench() { # NAME SECONDS [OPTION...]
  local name=$1 seconds=$2 program=tests/bench_cuda_$1
  shift 2
  if [[ ! -x $program ]]; then
    say "skipped  bench_$name: it was not built (Google Benchmark is missing)"
    return
  fi
  step "bench_$name" "$seconds" "$program" --benchmark_min_time=0.2 \
    --benchmark_repetitions=3 --benchmark_report_aggregates_only=true \
    --benchmark_out="$out/bench_$name.json" "$@"
}

# Suites of test_plugins, by file: those that call operators directly, or move tensors to the GPU
# themselves. Errors of GPU kernels come from the host, with other texts.
nn='*convolution*,*embedding*,*fully_connected*,*losses*,*matmul*,*nn_on_device*'
nn+=',*normalization*,*pooling*,*softmax*'
others='*elementwise*,*/reduce*,*/shape*,*gradients.cpp,*optim*,*random*,*eager_on_device*'
others+=',*large_on_device*'
by_hand=(tests/test_plugins '-tce=*refuse*' -d=true)

# A failed case runs again by itself with synchronous kernels, so that the right kernel is blamed.
operators() {
  local failed
  step plugins 90 "${by_hand[@]}" "-sf=$nn,$others"
  step libraries 90 "${by_hand[@]}" '-sf=*libraries_on_device*'
  failed=$(failed_cases "$logs/plugins.log" | head -1)
  # doctest separates cases by commas
  [[ -z $failed ]] || CUDA_LAUNCH_BLOCKING=1 step plugins_again 30 "${by_hand[@]}" \
    "-sf=$nn,$others" "-tc=${failed//,/?}"
}

sanitize() { # NAME SECONDS OPTION... COMMAND...
  local name=$1 seconds=$2
  shift 2
  if [[ -z $sanitizer ]]; then
    say "skipped  $name: compute-sanitizer is missing; it comes with the CUDA toolkit"
  else
    # Some tests provoke failing allocations.
    step "$name" "$seconds" "$sanitizer" --report-api-errors no --error-exitcode 9 \
      --launch-timeout 0 --print-limit 20 "$@"
  fi
}
memcheck=(--tool memcheck --track-stream-ordered-races all)

# Compares each operator's kernels with the CPU's. Most of the time goes into starting processes, so
# all plugins are checked concurrently.
check_plugins() {
  local begin=$SECONDS plugin name names=() jobs=()
  local limit=$((most - 50 - SECONDS)) # leaves time for the steps that follow
  ((limit < 200)) || limit=200
  for plugin in $(grep -la tenon_kernel_v1__cuda__ plugins/*.so); do
    name=check_$(basename "$plugin" .so)
    if [[ -n ${lacking[$plugin]:-} ]]; then
      say "skipped  $name: it lacks${lacking[$plugin]}"
      continue
    fi
    names+=("$name")
    run "$name" "$limit" ./tenon --trust-writable --plugins plugins check --device cuda "$plugin" &
    jobs+=($!)
  done
  ((${#jobs[@]} == 0)) || wait "${jobs[@]}"
  for name in "${names[@]}"; do tell "$name" "$begin"; done
}

profile() { # NAME BENCHMARK
  if [[ -z $ncu ]]; then
    say "skipped  $1: ncu is missing; it comes with the CUDA toolkit"
    return
  fi
  step "$1" 120 "$ncu" --set basic --clock-control none --launch-count 3 \
    tests/bench_cuda_elementwise --benchmark_filter="$2" --benchmark_min_time=0.01
  local figures='Duration|DRAM Throughput|Compute \(SM\) Throughput|Registers Per|Achieved Occ'
  grep -aE "^ *(tenon|void|[a-z_]+<).*Context|$figures" "$logs/$1.log" >>"$out/summary.txt"
}

# figure FILE NAME KEY: the median of a benchmark's repetitions.
figure() {
  awk -v name="\"name\": \"$2" -v key="\"$3\":" '/"name":/ {found = index($0, name) && /_median"/}
    found && index($0, key) {gsub(/[",]/, ""); printf "%.4g", $2; exit}' "$out/$1.json" 2>/dev/null
}

# training_figure BENCHMARK KEY: the median of a training step, or a placeholder if it was not
# measured.
training_figure() {
  local value
  value=$(figure bench_training "train_step/$1" "$2")
  printf '%s' "${value:-(unknown)}"
}

# goal WORDS VALUE COMPARISON BOUND [UNIT]
goal() {
  if [[ -z $2 ]]; then say "no figure  $1 (goal: $3 $4)"; result=1; return; fi
  if awk "BEGIN {exit !($2 $3 $4)}"; then
    say "reached    $1: $2 (goal: $3 $4)"
  else
    say "MISSED     $1: $2 (goal: $3 $4)"
    result=1
  fi
}

ratio() { [[ -z $1 || -z $2 ]] || awk "BEGIN {printf \"%.3f\", $1 / $2}"; }

goals() {
  local copied each network
  say
  copied=$(figure bench_elementwise device_copy bytes_per_second)
  for each in one_input/quadratic one_input/gelu two_inputs/add; do
    goal "$each, bandwidth relative to a copy" \
      "$(ratio "$(figure bench_elementwise "$each" bytes_per_second)" "$copied")" '>=' 0.9
  done
  say "add with a broadcast row, bandwidth relative to a copy:" \
    "$(ratio "$(figure bench_elementwise with_row/add bytes_per_second)" "$copied")"
  goal "chain of 1,000, session time relative to a captured graph" \
    "$(ratio "$(figure bench_chain session real_time)" \
      "$(figure bench_chain captured_by_hand real_time)")" '<=' 1.1
  for network in mlp convnet; do
    say "$network: a training step takes $(training_figure ${network}_cuda real_time) us," \
      "with $(training_figure ${network}_cuda kernel_us) us in" \
      "$(training_figure ${network}_cuda kernels) kernels," \
      "$(training_figure ${network}_cuda library) of that in library kernels;" \
      "the GPU is busy for $(training_figure ${network}_cuda busy) of the step"
    say "$network: $(training_figure ${network}_cuda waits) waits and" \
      "$(training_figure ${network}_cuda allocations) CUDA allocations in a training step;" \
      "a run must have none (steady_state)"
  done
}

# Tests the layers from the lowest to the highest; then runs the benchmarks, which need the GPU to
# themselves; tests that destroy the CUDA context come last.
first_call() {
  local suite
  step doctor 30 ./tenon --trust-writable doctor
  grep '^CUDA' "$logs/doctor.log" >>"$out/summary.txt"
  step host 30 tests/test_cuda --host -d=true
  step device_layer 60 tests/test_cuda -d=true
  operators
  sanitize memcheck_nn 80 "${memcheck[@]}" "${by_hand[@]}" "-sf=$nn"
  bench elementwise 40
  bench chain 40
  bench training 60 --benchmark_filter=cuda
  check_plugins
  step counted 30 tests/test_cuda --counted
  for suite in lost-device lost-session lost-launch; do
    step "${suite//-/_}" 20 tests/test_cuda "--$suite"
  done
  [[ -z $gpu ]] || goals
}

second_call() {
  sanitize memcheck_device_layer 80 "${memcheck[@]}" tests/test_cuda -d=true
  sanitize memcheck_others 100 "${memcheck[@]}" "${by_hand[@]}" "-sf=$others"
  sanitize racecheck 140 --tool racecheck "${by_hand[@]}" \
    "-sf=$nn,*/reduce*,*/shape*,*large_on_device*"
  sanitize synccheck 110 --tool synccheck "${by_hand[@]}" \
    "-sf=$nn,*/reduce*,*/shape*,*large_on_device*"
  sanitize initcheck 110 --tool initcheck "${by_hand[@]}" "-sf=$nn,$others"
}

third_call() {
  profile profile_gelu one_input/gelu
  profile profile_add two_inputs/add
  profile profile_add_row with_row/add
}

look_for_libraries
export TENON_TEST_DEVICE=cuda        # test_plugins calls kernels on this device
export CUDA_DEVICE_MAX_CONNECTIONS=32 # independent streams share no hardware queue
for folder in /usr/local/cuda*/bin /opt/nvidia/nsight-compute/*; do PATH+=:$folder; done
sanitizer=$(command -v compute-sanitizer)
ncu=$(command -v ncu)
# Tests look there; the transfer may have lost the links.
mkdir -p tests/tenon && ln -sfn ../../tenon-probe ../../tenon-worker ../../plugins tests/tenon/
if command -v nvidia-smi >/dev/null; then
  run nvidia-smi 30 nvidia-smi -q &
  wait $!
  facts=name,driver_version,persistence_mode,mig.mode.current,ecc.mode.current
  say "$(nvidia-smi --query-gpu=$facts --format=csv 2>&1)"
  # Some drivers reset the GPU after each process unless a client is running.
  nvidia-smi -lms 5000 >/dev/null 2>&1 &
fi
"${call}_call"
if ((result == 0)); then
  ((${#lacking[@]} == 0)) || result=1
  [[ -n $gpu ]] && grep -q '^passed' "$out/summary.txt" || result=77
fi
exit "$result"

#!/usr/bin/env bash
# Runs everything that needs a GPU and says what came of it: gpu.sh [--call CALL] [--out FOLDER] [BUILD]
#   BUILD   a build folder, which may have been moved, or an archive that --pack made; without it, `build`. Nothing is built.
#   FOLDER  gets summary.txt, the benchmarks' figures and logs.tar.xz; without it, $OUT
#   CALL    one of three parts, each of which ends within ten minutes:
#           first   whether everything works, and how fast (without --call)
#           second  what compute-sanitizer finds besides
#           third   what Nsight Compute says of single kernels
# No step stops another. The exit code is 1 if one failed, 77 if there is no GPU, 2 after wrong usage.
#
# gpu.sh --pack FILE.tar.xz [--limit MIB] [BUILD] makes an archive for a machine that has the driver and CUDA's own libraries; PyTorch's
# will do. It stays below MIB (60) with kernels for one architecture. With -lineinfo, sanitizers name lines of kernels:
#   cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=90-real -DCMAKE_CUDA_FLAGS=-lineinfo && cmake --build build-cuda
#   bash tests/gpu.sh --pack gpu.tar.xz build-cuda
# The other machine needs nothing else; the archive has this script, too:
#   tar xf gpu.tar.xz && bash tests/gpu.sh --out results .
set -uo pipefail
shopt -s nullglob
most=560 # seconds of one call, so that ten minutes are enough for bringing everything there and back, too
call=first out=${OUT:-} pack='' limit=60

refuse() {
  echo "gpu.sh: $*" >&2
  exit 2
}

while [[ ${1:-} == --* ]]; do
  [[ $1 =~ ^--(call|out|pack|limit)$ ]] || refuse "there is no option $1; it has --call, --out, --pack and --limit"
  [[ -n ${2:-} ]] || refuse "$1 needs a value"
  declare "${1#--}=$2"
  shift 2
done
[[ $call =~ ^(first|second|third)$ ]] || refuse "there is no call '$call'; name first, second or third"
[[ $limit =~ ^[1-9][0-9]{0,5}$ ]] || refuse "--limit is '$limit', but must be a number of MiB"
place=${1:-$(dirname "$0")/../build}
script=$(realpath "$0")
part=
work=$(mktemp -d) || refuse "no temporary folder could be made; name a place for it with TMPDIR"
trap 'rm -rf "$work" "$part"' EXIT
if [[ -f $place ]]; then
  mkdir "$work/build"
  tar xf "$place" --no-same-owner -C "$work/build" 2>"$work/why" || python3 -m tarfile -e "$place" "$work/build" >/dev/null 2>&1 ||
    refuse "$place cannot be unpacked: $(head -1 "$work/why")"
  place=$work/build
fi
build=$(cd "$place" 2>/dev/null && pwd) || refuse "there is no $place; name a build folder or an archive"
[[ -z $pack ]] || pack=$(realpath -m "$pack")
[[ -n $out ]] || out=$work/out
out=$(mkdir -p "$out" && cd "$out" && pwd) || refuse "$out cannot be written; name another folder with --out"
cd "$build" || exit 2
programs=(tenon tenon-probe tenon-worker tests/test_cuda tests/test_plugins)
benches=(tests/bench_cuda_elementwise tests/bench_cuda_chain tests/bench_cuda_training)
for program in "${programs[@]}"; do
  [[ -x $program ]] || refuse "there is no $build/$program; build with -DTENON_CUDA=ON first"
done
binaries=("${programs[@]}" tests/bench_cuda_* libtenon.so.[0-9] plugins/*.so tests/gpu_operators/*.so)

# The libraries of the C and C++ compilers stay behind: in front of newer ones they would break the other machine's own programs.
# Those of CUDA are too large.
left_behind='(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+|libcu[^/]*|libnv[^/]*)[-.]'

make_pack() {
  local tree=$work/pack each size written
  for each in "${benches[@]}" tests/libcupti.so; do
    [[ -e $each ]] || refuse "there is no $build/$each; build it with Google Benchmark and CUPTI"
  done
  part=$pack.part
  { : >"$part"; } 2>/dev/null || refuse "$pack cannot be written"
  LC_ALL=C ldd "${binaries[@]}" >"$work/libraries" 2>/dev/null
  ! grep 'not found' "$work/libraries" >"$work/why" || refuse "a library is missing here: $(head -1 "$work/why" | xargs)"
  for each in "${binaries[@]}"; do
    mkdir -p "$tree/$(dirname "$each")"
    strip --strip-unneeded -o "$tree/$each" "$each" || refuse "$build/$each could not be stripped"
  done
  mkdir "$tree/libraries"
  awk '$2 == "=>" {print $3}' "$work/libraries" | sort -u | grep -vE "^$build/|/$left_behind" | xargs -r cp -Lt "$tree/libraries"
  cp "$script" tests/libcupti.so "$tree/tests"
  find "$tree" -type f -printf '%s %P\n' | sort -k 2 | awk '{printf "%7.2f MiB  %s\n", $1 / 2 ^ 20, $2}'
  tar -C "$tree" --owner=0 --group=0 -c . | xz -T0 | head -c $(((limit << 20) + 1)) >"$part"
  written=("${PIPESTATUS[@]}")
  size=$(stat -c %s "$part")
  ((size <= limit << 20)) || refuse "$pack would have more than $limit MiB, which --limit sets; build for one architecture"
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
declare -A lacking=() # file: the libraries without which it cannot be loaded

say() { printf '%s\n' "$*" >>"$out/summary.txt"; }

# Whatever ends this script, nothing that it started goes on, and what is known by then is written.
end() {
  local code=$? nothing="there is no GPU; what needs one was skipped"
  [[ -z $gpu ]] || nothing="what it needs is missing"
  trap '' HUP INT TERM
  # shellcheck disable=SC2046
  kill $(jobs -p) 2>/dev/null
  wait
  case $code in
    0) say "gpu.sh: all passed in $SECONDS s" ;;
    77) say "gpu.sh: $nothing" ;;
    1) say "gpu.sh: FAILED after $SECONDS s" ;;
    *) say "gpu.sh: was ended after $SECONDS s" ;;
  esac
  tar cJf "$out/logs.tar.xz" -C "$work" logs 2>/dev/null || python3 -m tarfile -c "$out/logs.tar.xz" "$logs" 2>/dev/null
  echo
  cat "$out/summary.txt"
  rm -rf "$work"
  exit "$code"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# run NAME SECONDS COMMAND...: prints nothing; the output goes to NAME.log, the exit code and the time of the end to NAME.code. Runs in the
# background, where it ends its command when it is ended itself.
run() {
  local name=$1 left=$((most - 5 - SECONDS)) limit=$2
  shift 2
  ((limit < left)) || limit=$left
  if ((limit < 1)); then
    echo "no time was left" >"$logs/$name.log"
    echo "124 $SECONDS" >"$logs/$name.code"
    return
  fi
  trap 'kill $! 2>/dev/null; wait; exit' HUP INT TERM
  timeout -k 5 "$limit" "$@" >"$logs/$name.log" 2>&1 &
  wait $!
  echo "$? $SECONDS" >"$logs/$name.code"
}

# tell NAME BEGIN: what came of it; 77 is a skipped test, which has said why.
tell() {
  local name=$1 log=$logs/$1.log code end
  read -r code end <"$logs/$name.code"
  echo "== $name"
  cat "$log"
  [[ $name != check_* ]] || ((code != 0)) || grep -q PASSED "$log" || ! grep -q 'there is no device' "$log" || code=77
  case $code in
    0) say "passed   $name ($((end - $2)) s)" ;;
    77) say "skipped  $name: there is no GPU"; gpu= ;;
    124 | 137) say "FAILED   $name: not done in time ($((end - $2)) s); it reached:$(reached "$log")"; result=1 ;;
    *) say "FAILED   $name (exit code $code): $(grep -aE 'error|ERROR|FAILED|CRASHED|=== [A-Z]|look here$' "$log" | head -1)"; result=1 ;;
  esac
  [[ $code == 0 ]] || failed_cases "$log" | sed '20q; s/^/         /' >>"$out/summary.txt"
}

# failed_cases LOG: of a test program.
failed_cases() {
  awk '/^TEST CASE:/ {name = $0; sub(/^TEST CASE: */, "", name)} /ERROR: / && name != last {print last = name}' "$1"
}

# reached LOG: the operators of a check, and the last case of a test.
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

# The loader is asked, since some libraries are opened by their names only when they are first used.
look_for_libraries() {
  local file library folder found
  local -A users=()
  local folders=(/usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib /usr/local/cuda*/extras/CUPTI/lib64)
  mapfile -t -O "${#folders[@]}" folders < <(
    python3 -c 'import glob, sys; [print(f) for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")]' 2>/dev/null
  )
  export LD_LIBRARY_PATH=$build:$build/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for folder in "${folders[@]}"; do
    [[ ! -d $folder ]] || LD_LIBRARY_PATH+=:$folder
  done
  for file in "${binaries[@]}"; do
    for library in $(LC_ALL=C ldd "$file" 2>/dev/null | awk '/=> not found/ {print $1}' | sort -u); do
      lacking[$file]+=" $library"
      users[$library]+=" ${file##*/}"
    done
    [[ $file == plugins/* ]] || continue
    for library in $(grep -aoE '\blib(cu|nv)[A-Za-z_]+\.so\.[0-9]+' "$file" | sort -u | grep -v '^libcuda\.'); do
      [[ " ${users[$library]:-} " == *" ${file##*/} "* ]] || users[$library]+=" ${file##*/}"
    done
  done
  ((${#users[@]} == 0)) || for library in $(printf '%s\n' "${!users[@]}" | sort); do
    found=$(LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$library "$BASH" 2>/dev/null | awk -v name="$library" '$1 == name && $3 ~ /^\// {print $3; exit}')
    if [[ -n $found ]]; then say "found    $library: $found"; else say "missing  $library, for${users[$library]}"; fi
  done
  LC_ALL=C ldd "${binaries[@]}" 2>&1 | grep -o 'version .* not found' | sort -u | while read -r found; do say "missing  $found"; done
}

bench() { # NAME SECONDS [OPTION...]
  local name=$1 seconds=$2 program=tests/bench_cuda_$1
  shift 2
  if [[ ! -x $program ]]; then
    say "skipped  bench_$name: it was not built (Google Benchmark is missing)"
    return
  fi
  step "bench_$name" "$seconds" "$program" --benchmark_min_time=0.2 --benchmark_repetitions=3 --benchmark_report_aggregates_only=true \
    --benchmark_out="$out/bench_$name.json" "$@"
}

# Suites of test_plugins, by their files: those that call operators by hand, or move tensors to the GPU themselves. What kernels refuse is
# told by the host, in other words.
nn='*convolution*,*embedding*,*fully_connected*,*losses*,*matmul*,*nn_on_device*,*normalization*,*pooling*,*softmax*'
others='*elementwise*,*/reduce*,*/shape*,*gradients.cpp,*optim*,*random*,*eager_on_device*,*parts_on_device*'
by_hand=(tests/test_plugins '-tce=*refuse*' -d=true)

# A case that failed runs again alone, with kernels that are waited for, so that the right one is blamed.
operators() {
  local failed
  step plugins 90 "${by_hand[@]}" "-sf=$nn,$others"
  step libraries 90 "${by_hand[@]}" '-sf=*libraries_on_device*'
  failed=$(failed_cases "$logs/plugins.log" | head -1)
  [[ -z $failed ]] || CUDA_LAUNCH_BLOCKING=1 step plugins_again 30 "${by_hand[@]}" "-sf=$nn,$others" "-tc=${failed//,/?}" # a comma divides
}

sanitize() { # NAME SECONDS OPTION... COMMAND...
  local name=$1 seconds=$2
  shift 2
  if [[ -z $sanitizer ]]; then
    say "skipped  $name: compute-sanitizer is missing; it comes with the CUDA toolkit"
  else
    # Refused allocations are what some tests are about.
    step "$name" "$seconds" "$sanitizer" --report-api-errors no --error-exitcode 9 --launch-timeout 0 --print-limit 20 "$@"
  fi
}
memcheck=(--tool memcheck --track-stream-ordered-races all)

# Each operator's kernels against the CPU's. Most of it is processes that start, so all plugins are checked at once.
check_plugins() {
  local begin=$SECONDS plugin name names=() jobs=() limit=$((most - 50 - SECONDS)) # the steps that follow need the rest
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
  step "$1" 120 "$ncu" --set basic --clock-control none --launch-count 3 tests/bench_cuda_elementwise --benchmark_filter="$2" --benchmark_min_time=0.01
  grep -aE '^ *(tenon|void|[a-z_]+<).*Context|Duration|DRAM Throughput|Compute \(SM\) Throughput|Registers Per|Achieved Occ' "$logs/$1.log" >>"$out/summary.txt"
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
  if [[ -z $2 ]]; then say "no figure  $1 (goal: $3 $4)"; result=1; return; fi
  if awk "BEGIN {exit !($2 $3 $4)}"; then say "reached    $1: $2 (goal: $3 $4)"; else say "MISSED     $1: $2 (goal: $3 $4)"; result=1; fi
}

ratio() { [[ -z $1 || -z $2 ]] || awk "BEGIN {printf \"%.3f\", $1 / $2}"; }

goals() {
  local copied each network
  say
  copied=$(figure bench_elementwise device_copy bytes_per_second)
  for each in one_input/quadratic one_input/gelu two_inputs/add; do
    goal "$each, bytes a second over a copy's" "$(ratio "$(figure bench_elementwise "$each" bytes_per_second)" "$copied")" '>=' 0.9
  done
  say "add with a row for all rows, bytes a second over a copy's: $(ratio "$(figure bench_elementwise with_row/add bytes_per_second)" "$copied")"
  goal "chain of 1,000, a session's time over a captured graph's" \
    "$(ratio "$(figure bench_chain session real_time)" "$(figure bench_chain captured_by_hand real_time)")" '<=' 1.1
  for network in mlp convnet; do
    say "$network: a training step takes $(told ${network}_cuda real_time) us," \
      "with $(told ${network}_cuda kernel_us) us in $(told ${network}_cuda kernels) kernels," \
      "$(told ${network}_cuda library) of that in libraries' kernels; a kernel runs for $(told ${network}_cuda busy) of the step"
    say "$network: $(told ${network}_cuda waits) waits and $(told ${network}_cuda allocations) allocations of CUDA in a training step;" \
      "within a run there are to be none (steady_state)"
  done
}

# Whether the layers work, from the lowest to the highest; then the figures, which need the GPU alone; what ends contexts comes last.
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
  for suite in lost-device lost-session lost-launch; do step "${suite//-/_}" 20 tests/test_cuda "--$suite"; done
  [[ -z $gpu ]] || goals
}

second_call() {
  sanitize memcheck_device_layer 80 "${memcheck[@]}" tests/test_cuda -d=true
  sanitize memcheck_others 100 "${memcheck[@]}" "${by_hand[@]}" "-sf=$others"
  sanitize racecheck 140 --tool racecheck "${by_hand[@]}" "-sf=$nn,*/reduce*,*/shape*,*parts_on_device*"
  sanitize synccheck 110 --tool synccheck "${by_hand[@]}" "-sf=$nn,*/reduce*,*/shape*,*parts_on_device*"
  sanitize initcheck 110 --tool initcheck "${by_hand[@]}" "-sf=$nn,$others"
}

third_call() {
  profile profile_gelu one_input/gelu
  profile profile_add two_inputs/add
  profile profile_add_row with_row/add
}

look_for_libraries
export TENON_TEST_DEVICE=cuda        # test_plugins calls kernels there
export CUDA_DEVICE_MAX_CONNECTIONS=32 # streams that wait for nothing share no hardware queue
for folder in /usr/local/cuda*/bin /opt/nvidia/nsight-compute/*; do PATH+=:$folder; done
sanitizer=$(command -v compute-sanitizer)
ncu=$(command -v ncu)
mkdir -p tests/tenon && ln -sfn ../../tenon-probe ../../tenon-worker ../../plugins tests/tenon/ # tests look there, and links may be lost on the way
if command -v nvidia-smi >/dev/null; then
  run nvidia-smi 30 nvidia-smi -q &
  wait $!
  say "$(nvidia-smi --query-gpu=name,driver_version,persistence_mode,mig.mode.current,ecc.mode.current --format=csv 2>&1)"
  nvidia-smi -lms 5000 >/dev/null 2>&1 & # without a client, some drivers start the GPU anew for each process
fi
"${call}_call"
if ((result == 0)); then
  ((${#lacking[@]} == 0)) || result=1
  [[ -n $gpu ]] && grep -q '^passed' "$out/summary.txt" || result=77
fi
exit "$result"

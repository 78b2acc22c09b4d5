#!/usr/bin/env bash
# Runs all tests in one optimized build, with CUDA code on simulated GPUs (default), and where there
# is a GPU also with nvcc (cuda). Further stages, which run tests again under sanitizers, compile
# with other compilers or need other software, run by name; tests/README.md has the table. Some
# stages have several parts, which also run by their own names. `all` leaves out the parts that take
# hours or download gigabytes. The summary at the end lists what ran and what did not.
# run.sh [STAGE|PART]...: runs some stages or parts; run.sh all; run.sh --list prints their names
set -uo pipefail
cd "$(dirname "$0")/.."
stages=(default cuda sanitizers clang python machines docs fuzz)
declare -A parts=([sanitizers]="simulated asan tsan" [clang]="clang tidy"
  [python]="wheel torch onnx engines triton" [machines]="ranks qemu")
large=" torch onnx engines triton fuzz "
all=() todo=()
for stage in "${stages[@]}"; do
  for part in ${parts[$stage]:-$stage}; do
    [[ ${1:-} != --list ]] || echo "$stage $part"
    [[ $large == *" $part "* ]] || all+=("$part")
  done
done
[[ ${1:-} != --list ]] || exit 0
if ! (($#)); then
  set -- default
  [[ ! -e /dev/nvidia0 ]] || set -- default cuda
fi
for name; do
  if [[ $name == all ]]; then
    todo+=("${all[@]}")
  elif [[ " ${stages[*]} " == *" $name "* ]]; then
    todo+=(${parts[$name]:-$name})
  elif [[ " ${parts[*]} " == *" $name "* ]]; then
    echo "run.sh: '$name' is a part of a stage; the other parts of that stage are not run"
    todo+=("$name")
  else
    echo "run.sh: unknown stage '$name'; stages: ${stages[*]}; parts: ${parts[*]};" \
      "'all' leaves out:${large% }" >&2
    exit 2
  fi
done
summary=()
failed=0

# step NAME COMMAND...: runs the command and logs its output, which is printed only if it fails.
step() {
  local name=$1 log=build-ci/log/$1.txt begin=$SECONDS
  shift
  echo "== $name"
  if "$@" >"$log" 2>&1; then
    summary+=("passed   $name ($((SECONDS - begin)) s)")
  else
    cat "$log"
    summary+=("FAILED   $name ($((SECONDS - begin)) s): $*")
    failed=1
    return 1
  fi
}
skipped() { summary+=("skipped  $1: $2"); }

# tests NAME FOLDER CTEST-OPTIONS...: runs ctest and prints its last lines. Runs two more tests than
# there are cores, because some only wait.
tests() {
  local name=$1 folder=$2
  shift 2
  step "$name" ctest --test-dir "$folder" --output-on-failure --no-tests=error \
    -j $(($(nproc) + 2)) "$@"
  local result=$?
  sed -n '/% tests passed/,$p' "build-ci/log/$name.txt"
  return $result
}

# venv NAME FOLDER REQUIREMENT...: makes a virtual environment of the system's Python; if that
# fails, NAME is skipped.
venv() {
  local name=$1 folder=$2 said
  shift 2
  echo "== $folder"
  said=$(bash tests/house/venv.sh "$folder" \
    "$(command -v /usr/bin/python3 || command -v python3)" "$@") && return
  skipped "$name" "${said##*$'\n'}"
  return 1
}

# configure_python STEP PRESET: configures the preset with the Python package and its tests if their
# requirements can be installed.
configure_python() {
  local python=(-DTENON_PYTHON=OFF)
  ! venv python build-ci/venv -r tests/python/requirements.txt ||
    python=(-DTENON_PYTHON=ON "-DPython_EXECUTABLE=$PWD/build-ci/venv/bin/python")
  step "$1" cmake --preset "$2" "${python[@]}"
}

run_default() {
  configure_python configure ci && step build cmake --build build-ci &&
    tests test build-ci || return
  command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] ||
    skipped "CUDA sources by nvcc" "no nvcc on the PATH"
  [[ -e /dev/nvidia0 ]] || skipped "running on a GPU" "this machine has no GPU"
  grep -oP '^\s*\d+/\d+ Test\s+#\d+: \K\S+(?= .*\*\*\*Skipped)' build-ci/log/test.txt |
    while read -r name; do echo "skipped by ctest: $name"; done
  if command -v dpkg-shlibdeps >/dev/null; then
    step deb bash tests/house/deb.sh build-ci
  else
    skipped deb "dpkg-dev is missing"
  fi
}

run_cuda() {
  command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] ||
    { skipped cuda "no nvcc on the PATH"; return; }
  step cuda-configure cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=90 &&
    step cuda-build cmake --build build-cuda &&
    tests cuda-test build-cuda -L 'unit|gpu|nvcc'
}

run_asan() {
  configure_python asan-configure asan && step asan-build cmake --build build-asan &&
    tests asan-test build-asan -L unit
}

run_simulated() {
  configure_python simulated-configure simulated &&
    step simulated-build cmake --build build-simulated &&
    tests simulated-test build-simulated -L unit
}

run_tsan() {
  configure_python tsan-configure tsan &&
    step tsan-build cmake --build build-tsan --target tenon_threaded_tests &&
    tests tsan-test build-tsan -L threads
}

run_clang() {
  local clang
  clang=$(command -v clang++-14 || command -v clang++) ||
    { skipped clang "clang++ is missing"; return; }
  step clang-configure cmake --preset default -B build-clang -DCMAKE_CXX_COMPILER="$clang" \
    -DCMAKE_C_COMPILER="${clang/++/}" -DTENON_CUDA=OFF -DTENON_BUILD_BENCH=OFF \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
    step clang-build cmake --build build-clang
}

run_tidy() {
  command -v run-clang-tidy >/dev/null || { skipped clang-tidy "clang-tidy is missing"; return; }
  # Uses the simulated build, in which g++ compiles all sources, because clang's CUDA differs from
  # nvcc's; without g++ flags that clang does not know.
  step tidy-configure cmake --preset simulated -B build-tidy \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-Og -DCMAKE_UNITY_BUILD=OFF \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
    step tidy-headers cmake --build build-tidy --target tenon_schema tenon_template &&
    step tidy run-clang-tidy -p build-tidy -quiet -j "$(nproc)" "^$PWD/(host|plugins)/.*\.cpp$"
}

# Uses the default stage's build. Instructions wider than the emulated processor's vectors end a
# program.
run_qemu() {
  command -v qemu-x86_64 >/dev/null ||
    { skipped qemu "qemu-x86_64 is missing; apt-get install qemu-user has it"; return; }
  [[ $(uname -m) == x86_64 ]] ||
    { skipped qemu "results are compared with this machine's, which is not x86-64"; return; }
  step qemu-configure cmake --preset ci &&
    step qemu-build cmake --build build-ci --target tenon tenon_plugins tenon-probe tenon-worker &&
    step qemu bash tests/house/qemu.sh build-ci
}

run_wheel() {
  venv wheel build-wheel/tools -r tests/house/wheel_requirements.txt &&
    step wheel bash tests/house/wheel.sh build-wheel build-wheel/tools
}

# Tests that need torch or jax, with the default stage's build.
run_torch() {
  [[ -d tests/python_torch ]] ||
    { skipped torch "the folder tests/python_torch is missing"; return; }
  venv torch build-ci/venv -r tests/python/requirements.txt || return
  venv torch build-torch/venv -r tests/python/requirements.txt 'torch>=2.4' 'jax>=0.4.30' \
    'onnx>=1.16' || return
  step torch-configure cmake --preset ci -DTENON_PYTHON=ON \
    "-DPython_EXECUTABLE=$PWD/build-ci/venv/bin/python" &&
    step torch-build cmake --build build-ci \
      --target tenon tenon_plugins tenon_python tenon-probe tenon-worker &&
    step torch env "PYTHONPATH=$PWD/build-ci/python" build-torch/venv/bin/python \
      -m pytest -q -p no:cacheprovider tests/python_torch &&
    step torch-models build-torch/venv/bin/python tests/onnx/torch_models.py build-ci/tenon
}

# Distributed training: with more processes than in CI, by TCP and MPICH, killed at random moments,
# and with a thousand simulated processes.
run_ranks() {
  command -v mpirun.openmpi >/dev/null || {
    skipped ranks "mpirun.openmpi is missing; apt-get install openmpi-bin libopenmpi-dev"
    return
  }
  step ranks-configure cmake --preset ci &&
    step ranks-build cmake --build build-ci \
      --target tenon tenon_plugins tenon-probe tenon-worker || return
  step ranks bash tests/comm/ranks.sh build-ci mpirun.openmpi 8
  step ranks-tcp env OMPI_MCA_btl=tcp,self bash tests/comm/ranks.sh build-ci mpirun.openmpi 8
  if [[ -e build-ci/plugins/tenon_comm_mpich.so ]]; then
    step ranks-mpich bash tests/comm/ranks.sh build-ci mpirun.mpich 8
  else
    skipped ranks-mpich "MPICH is missing; apt-get install mpich libmpich-dev"
  fi
  if venv ranks-standard-abi build-ranks/venv 'mpich>=5'; then
    step ranks-standard-abi bash tests/comm/standard_abi.sh build-ci build-ranks/venv 8
    step ranks-standard-abi-tcp env MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self \
      bash tests/comm/standard_abi.sh build-ci build-ranks/venv 8
  fi
  step ranks-killed bash tests/comm/kills.sh build-ci 50
  if ((EUID == 0)) && ip netns list >/dev/null 2>&1; then
    step ranks-link bash tests/comm/link.sh build-ci
  else
    skipped ranks-link "network namespaces need root and iproute2"
  fi
  command -v smpicxx >/dev/null ||
    { skipped ranks-simulated "smpicxx is missing; apt-get install libsimgrid-dev"; return; }
  step ranks-simulated-build cmake --build build-ci --target tenon_simulated_ranks &&
    step ranks-simulated bash tests/comm/simulated/ranks.sh build-ci/tests/simulated_ranks \
      64 1000 1024
}

# The conformance test of tests/onnx with PyPI's newer cases; then onnxruntime and Netron on models
# that Tenon wrote.
run_onnx() {
  venv onnx build-onnx/venv -r tests/onnx/requirements.txt || return
  step onnx-configure cmake --preset default -B build-onnx -DCMAKE_UNITY_BUILD=ON \
    -DTENON_CUDA=OFF -DTENON_BUILD_BENCH=OFF -DTENON_TEST_FOLDERS=onnx &&
    step onnx-build cmake --build build-onnx --target test_onnx tenon_plugins tenon-probe &&
    step onnx build-onnx/venv/bin/python tests/onnx/backend.py build-onnx &&
    tail -n 1 build-ci/log/onnx.txt || return
  rm -rf build-onnx/models && mkdir -p build-onnx/models
  step onnx-export env "TENON_EXPORT_TO=$PWD/build-onnx/models" build-onnx/tests/test_onnx \
    "-tc=*written for other programs*" &&
    step onnx-compare build-onnx/venv/bin/python tests/onnx/compare_exports.py \
      build-onnx/models || return
  if venv onnx-traditional build-onnx/traditional -r tests/onnx/traditional_requirements.txt; then
    step onnx-traditional-build cmake --build build-onnx \
      --target tenon tenon_plugins tenon-probe tenon-worker &&
      step onnx-traditional build-onnx/traditional/bin/python \
        tests/onnx/comparisons/traditional_models.py build-onnx/tenon &&
      tail -n 1 build-ci/log/onnx-traditional.txt &&
      step onnx-quantized build-onnx/traditional/bin/python \
        tests/onnx/comparisons/quantized_models.py build-onnx/tenon &&
      tail -n 1 build-ci/log/onnx-quantized.txt
  fi
  command -v chromium >/dev/null ||
    { skipped onnx-netron "chromium is missing; apt-get install chromium"; return; }
  step onnx-netron bash -c 'build-onnx/venv/bin/python tests/onnx/comparisons/netron_opens.py \
    $(ls -S build-onnx/models/17/*.onnx | head -n 8)'
}

# tenon.Scorer in engines from PyPI, with the default stage's build. Spark needs Java.
run_engines() {
  venv engines build-ci/venv -r tests/python/requirements.txt || return
  venv engines build-engines/venv -r tests/python/requirements.txt 'ray[data]' distributed \
    pyarrow pandas datafusion pyspark || return
  command -v java >/dev/null ||
    skipped "Spark in engines" "java is missing; apt-get install openjdk-17-jre-headless"
  step engines-configure cmake --preset ci -DTENON_PYTHON=ON \
    "-DPython_EXECUTABLE=$PWD/build-ci/venv/bin/python" &&
    step engines-build cmake --build build-ci \
      --target tenon tenon_plugins tenon_python tenon-probe tenon-worker &&
    step engines env "PYTHONPATH=$PWD/build-ci/python" build-engines/venv/bin/python \
      -m pytest -q -p no:cacheprovider tests/python_engines
}

# Graphs in the server of PyPI's nvidia-pytriton, with the default stage's build.
run_triton() {
  venv triton build-triton/venv -r tests/triton/requirements.txt || return
  step triton-configure cmake --preset ci &&
    step triton-build cmake --build build-ci \
      --target tenon tenon_triton tenon_plugins tenon-probe tenon-worker &&
    step triton env "TENON_BUILD=$PWD/build-ci" build-triton/venv/bin/python \
      -m pytest -q -p no:cacheprovider tests/triton &&
    step triton-bench env "TENON_BUILD=$PWD/build-ci" build-triton/venv/bin/python \
      tests/triton/bench.py --check &&
    cat build-ci/log/triton-bench.txt
}

# The documentation site has no broken links, and every page opens in a browser without an error.
run_docs() {
  venv docs build-docs/venv -r host/docs/requirements.txt || return
  venv docs build-ci/venv -r tests/python/requirements.txt || return
  step docs-configure cmake --preset ci -DTENON_PYTHON=ON \
    "-DPython_EXECUTABLE=$PWD/build-ci/venv/bin/python" &&
    step docs-types cmake --build build-ci --target tenon_core_types || return
  step docs env "PATH=$PWD/build-docs/venv/bin:$PATH" bash host/docs/site.sh build-docs/site \
    build-ci/python/tenon/_core.pyi &&
    tail -n 1 build-ci/log/docs.txt || return
  command -v chromium >/dev/null ||
    { skipped docs-pages "chromium is missing; apt-get install chromium"; return; }
  step docs-pages python3 tests/house/site_pages.py build-docs/site &&
    tail -n 1 build-ci/log/docs-pages.txt
}

# `run.sh fuzz` runs each target for an hour, or for TENON_FUZZ_SECONDS.
run_fuzz() {
  command -v clang++ >/dev/null || { skipped fuzz "clang++ is missing"; return; }
  step fuzz-configure cmake --preset fuzz "-DTENON_FUZZ_SECONDS=${TENON_FUZZ_SECONDS:-3600}" &&
    step fuzz cmake --build --preset fuzz
}

mkdir -p build-ci/log
step setup bash host/setup.sh --tests || exit 1
for part in "${todo[@]}"; do
  "run_$part" || true
done

for stage in "${stages[@]}"; do
  for part in ${parts[$stage]:-$stage}; do
    [[ " ${todo[*]} " == *" $part "* ]] ||
      skipped "$part" "not requested; run it with bash tests/run.sh $part"
  done
done

echo
printf '%s\n' "${summary[@]}"
if ((failed)); then
  echo "run.sh: FAILED after $((SECONDS / 60)) min"
else
  echo "run.sh: all passed in $((SECONDS / 60)) min"
fi
exit $failed

#!/usr/bin/env bash
# Mutation testing: puts small faults into host/, one at a time, and reports those that no test
# detects. Not part of CI: each fault costs a build of the library and a run of up to all test
# programs, some minutes on two cores.
#
# mutate.sh [OPTION]... [-- CMAKE-OPTION]...
#   --count N     number of random faults, drawn by the rules of mutate/draw.py (20); faults that do
#                 not build are drawn again
#   --seed S      seed of the random faults; the same seed and sources give the same faults (1)
#   --folder DIR  only sources of this folder, such as host/graph
#   --tests LIST  only these test programs, such as graph,plan: faster, but others may detect faults
#                 that survive
#   --known       the faults of mutate/known.txt instead of random ones; --known=m02,n31 only these
#   --python EXE  for folders in host/python: an interpreter with the requirements of tests/python,
#                 whose tests then decide (build-ci/venv/bin/python)
#   --build DIR   folder of the copy of the tree and its build, reused by the next run
#                 (build/mutate)
#
# Works on a copy of the last commit; the working tree stays unchanged. For each fault only the
# library is compiled again, not the tests. The test program of the fault's folder is linked and run
# first, then the others, fast ones first, until one fails. One line per fault says killed, and by
# which program, or SURVIVED; the table at the end has the score. Headers are left out. Code that
# only GPUs run survives unless the copy is built for simulated GPUs, which takes longer:
# `mutate.sh --build build/mutate-simulated -- -DTENON_CUDA=SIMULATED`
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."

usage() {
  sed -n '/^# mutate.sh/,/^$/s/^# \{0,1\}//p' "$here/mutate.sh" >&2
  exit 2
}
count=20 seed=1 folder=host tests="" known="" place=build/mutate python=build-ci/venv/bin/python
while (($#)); do
  case $1 in
    --count) count=${2:?} && shift ;;
    --seed) seed=${2:?} && shift ;;
    --folder) folder=${2:?} && shift ;;
    --tests) tests=${2:?} && shift ;;
    --build) place=${2:?} && shift ;;
    --python) python=${2:?} && shift ;;
    --known) known=all ;;
    --known=*) known=${1#--known=} ;;
    --) shift && break ;;
    *) usage ;;
  esac
  shift
done
[[ $count =~ ^[0-9]+$ && $folder == host* && -d $folder ]] || usage
if [[ $folder == host/python* ]]; then
  python=$(realpath -s "$python")
  [[ -x $python ]] ||
    { echo "mutate: there is no interpreter $python; choose one with --python" >&2 && exit 1; }
  set -- "$@" -DTENON_PYTHON=ON "-DPython_EXECUTABLE=$python"
else
  python=""
fi

# --- the copy and its build
[[ -z $(git status --porcelain -- host sdk plugins tests) ]] ||
  echo "mutate: uncommitted changes are not tested" >&2
mkdir -p "$(dirname "$place")"
if [[ -e $place/.git ]]; then
  git -C "$place" reset -q --hard
  git -C "$place" checkout -q --detach "$(git rev-parse HEAD)"
else
  git worktree prune
  git worktree add -q --detach "$place" HEAD
fi
cd "$place"
trap 'git checkout -q -- .' EXIT
trap 'exit 130' INT TERM
mkdir -p build/home
log=$PWD/build/mutate.log
memory=$(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) / 2))
# these builds map more memory than the machine has
[[ $* != *SIMULATED* && $* != *SANITIZE* ]] || memory=unlimited

give_up() {
  tail -n 40 "$log"
  echo "mutate: $1" >&2
  exit 1
}
# Warnings must not reject faults, such as unused names or && next to ||. At -O1, g++ also warns of
# code that is fine.
quiet="-Wno-unused -Wno-parentheses -Wno-empty-body -Wno-maybe-uninitialized"
quiet+=" -Wno-unused-parameter -Wno-type-limits"
cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 $quiet" -DTENON_CUDA=OFF \
  -DTENON_BUILD_BENCH=OFF "$@" >"$log" 2>&1 || give_up "the copy cannot be configured"
programs=() targets=(tenon tenon-probe)
for program in $(ninja -C build -t targets all | sed -n 's/^tests\/test_\([a-z_]*\): .*/\1/p'); do
  # the SDK's tests contain no code of the host
  [[ -n $python || $program == sdk || (-n $tests && ,$tests, != *,$program,*) ]] ||
    programs+=("$program")
done
if [[ -n $python ]]; then
  programs=(python) targets+=(tenon-worker tenon_python tenon_plugins)
fi
((${#programs[@]})) || give_up "there is no test program $tests"
echo "mutate: building ${#programs[@]} test programs" >&2
[[ -n $python ]] || targets+=("${programs[@]/#/test_}")
cmake --build build --target "${targets[@]}" >"$log" 2>&1 ||
  give_up "the copy does not build without a fault"

# Without the tests that build projects or only read texts.
mapfile -t python_tests < <(printf '%s\n' "$PWD"/tests/python/{,*/}test_*.py |
  grep -vE 'test_(compile|install|readme|site|tutorial)\.py')

# run PROGRAM SECONDS: whether its tests pass within this CPU time. A fault may exhaust memory,
# write out of bounds or never return.
run() {
  (
    cd build
    ulimit -d "$memory" -t "$2"
    export HOME=$PWD/home XDG_CACHE_HOME=$PWD/home
    program=("tests/test_$1" -aa=1 -nv)
    [[ $1 != python ]] || program=(env "PYTHONPATH=$PWD/python" "$python" -m pytest
      -q -x -p no:cacheprovider "${python_tests[@]}")
    timeout -k 5 $((60 + 3 * $2)) "${program[@]}" >"$log" 2>&1 </dev/null
  ) 2>/dev/null  # hides the shell's reports of crashes
}

declare -A seconds=()
for program in "${programs[@]}"; do
  begin=$SECONDS
  run "$program" 1200 || give_up "test_$program fails without a fault"
  seconds[$program]=$((SECONDS - begin))
done
mapfile -t programs < <(for program in "${programs[@]}"; do
  echo "${seconds[$program]} $program"
done | sort -n | cut -d' ' -f2)

# --- the faults
declare -A of=([killed]=0 [SURVIVED]=0 ["does not build"]=0 ["fits nothing"]=0)
survivors=()
report() {  # RESULT PLACE WHAT BY
  of[$1]=$((${of[$1]} + 1))
  printf '%-14s  %-44s  %s%s\n' "$1" "$2" "$3" "${4:+  (by test_$4)}"
  [[ $1 != SURVIVED ]] || survivors+=("$2  $3")
}

# try FILE WHAT SED
try() {
  local file=$1 what=$2 own=${1#host/} place program first=("${targets[@]}")
  own=${own%%/*}
  # faults that these programs detect need no others
  [[ " ${targets[*]} " != *" test_$own "* ]] || first=(tenon tenon-probe "test_$own")
  sed -i "$3" "$file"
  if git diff --quiet -- "$file"; then
    report "fits nothing" "$file" "$what"
    return
  fi
  place=$file:$(git diff -U0 -- "$file" | sed -n 's/^@@ -\([0-9]*\).*/\1/p' | head -n 1)
  if ! cmake --build build --target "${first[@]}" >"$log" 2>&1; then
    report "does not build" "$place" "$what"
  else
    for program in $(printf '%s\n' "${programs[@]}" |
      grep -x "$own") $(printf '%s\n' "${programs[@]}" | grep -vx "$own"); do
      if ! run "$program" $((20 + 4 * seconds[$program])); then
        report killed "$place" "$what" "$program"
        break
      fi
      [[ $program != "$own" ]] || cmake --build build --target "${targets[@]}" >"$log" 2>&1 ||
        give_up "$place: $what: only some programs build"
      program=""
    done
    [[ -n $program ]] || report SURVIVED "$place" "$what"
  fi
  git checkout -q -- "$file"
}

if [[ -n $known ]]; then
  while read -r name end line; do
    [[ -n $name && $name != \#* ]] || continue
    [[ $known == all || ,$known, == *,$name,* ]] || continue
    mapfile -t files < <(git ls-files 'host/*.cpp' | grep -E "(^|/)${end//./\\.}$")
    if ((${#files[@]} == 1)); then
      try "${files[0]}" "$name" "$line"
    else
      report "fits nothing" "$end" "$name: ${#files[@]} files have this name"
    fi
  done <tests/mutate/known.txt
else
  mapfile -t sources < <(git ls-files "$folder/*.cpp" | while read -r file; do
    ! grep -qF "/$file\"" build/compile_commands.json || echo "$file"
  done)
  ((${#sources[@]})) || { echo "mutate: no source of $folder is built" >&2 && exit 1; }
  while IFS=$'\t' read -r file _ what line; do
    ((of[killed] + of[SURVIVED] < count)) || break
    try "$file" "$what" "$line"
  done < <(python3 tests/mutate/draw.py "$seed" $((2 * count)) "${sources[@]}")
fi

# --- the table
tried=$((of[killed] + of[SURVIVED]))
echo
for survivor in "${survivors[@]}"; do echo "SURVIVED  $survivor"; done
echo "score: ${of[killed]} of $tried killed ($((tried ? 100 * of[killed] / tried : 0)) %)," \
  "seed $seed; ${of["does not build"]} did not build, ${of["fits nothing"]} fitted nothing"

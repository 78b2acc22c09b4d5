#!/usr/bin/env bash
# Tests the tests: puts small faults into host/, one at a time, and says which of them no test notices. Not a part of CI: each fault costs a
# build of the library and up to all test programs, some minutes on two cores.
#
# mutate.sh [OPTION]... [-- CMAKE-OPTION]...
#   --count N     so many fresh faults, drawn by the rules of mutate/draw.py (20); those that do not build are drawn again
#   --seed S      other numbers draw other faults, the same number the same ones from the same sources (1)
#   --folder DIR  only in the sources of this folder, such as host/graph
#   --tests LIST  only these test programs, such as graph,plan: quicker, but others may notice what survives
#   --known       no fresh faults, but those of mutate/known.txt; --known=m02,n31 only these
#   --python EXE  for folders in host/python: an interpreter with what tests/python needs, whose tests then decide (build-ci/venv/bin/python)
#   --build DIR   where the copy of the tree and its build are kept for the next time (build/mutate)
#
# Works on a copy of what is committed; the files here stay as they are. For each fault the library is compiled again; tests stay
# compiled. The program of the fault's folder is linked and run first, then the others, the quick ones first, until one fails. A line for
# each fault says killed, by which program, or SURVIVED; the table at the end has the score. Headers are left out. What only GPUs run
# survives unless the copy is built for simulated ones: `mutate.sh --build build/mutate-simulated -- -DTENON_CUDA=SIMULATED`, which takes
# longer.
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
  [[ -x $python ]] || { echo "mutate: there is no interpreter $python: --python names one" >&2 && exit 1; }
  set -- "$@" -DTENON_PYTHON=ON "-DPython_EXECUTABLE=$python"
else
  python=""
fi

# --- the copy and its build
[[ -z $(git status --porcelain -- host sdk plugins tests) ]] || echo "mutate: what is not committed is not tested" >&2
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
[[ $* != *SIMULATED* && $* != *SANITIZE* ]] || memory=unlimited  # they map more than there is

give_up() {
  tail -n 40 "$log"
  echo "mutate: $1" >&2
  exit 1
}
# What g++ warns of is no test: a name that nobody uses any more, && beside ||. And at -O1 it sees what is not there.
quiet="-Wno-unused -Wno-parentheses -Wno-empty-body -Wno-maybe-uninitialized -Wno-unused-parameter -Wno-type-limits"
cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 $quiet" -DTENON_CUDA=OFF \
  -DTENON_BUILD_BENCH=OFF "$@" >"$log" 2>&1 || give_up "the copy cannot be configured"
programs=() targets=(tenon tenon-probe)
for program in $(ninja -C build -t targets all | sed -n 's/^tests\/test_\([a-z_]*\): .*/\1/p'); do
  [[ -n $python || $program == sdk || (-n $tests && ,$tests, != *,$program,*) ]] || programs+=("$program")  # the SDK's have no host in them
done
if [[ -n $python ]]; then
  programs=(python) targets+=(tenon-worker tenon_python tenon_plugins)
fi
((${#programs[@]})) || give_up "no test program is called $tests"
echo "mutate: building ${#programs[@]} test programs" >&2
[[ -n $python ]] || targets+=("${programs[@]/#/test_}")
cmake --build build --target "${targets[@]}" >"$log" 2>&1 || give_up "the copy does not build without a fault"

# Without those that build projects, or look at text alone.
mapfile -t python_tests < <(printf '%s\n' "$PWD"/tests/python/test_*.py | grep -vE 'test_(compile|install|readme|site|tutorial)\.py')

# run PROGRAM SECONDS: whether its tests pass, in so much time of a processor. A fault may take all memory, write where it should not, or wait
# for ever.
run() {
  (
    cd build
    ulimit -d "$memory" -t "$2"
    export HOME=$PWD/home XDG_CACHE_HOME=$PWD/home
    program=("tests/test_$1" -aa=1 -nv)
    [[ $1 != python ]] || program=(env "PYTHONPATH=$PWD/python" "$python" -m pytest -q -x -p no:cacheprovider "${python_tests[@]}")
    timeout -k 5 $((60 + 3 * $2)) "${program[@]}" >"$log" 2>&1 </dev/null
  ) 2>/dev/null  # where the shell would tell of crashes
}

declare -A seconds=()
for program in "${programs[@]}"; do
  begin=$SECONDS
  run "$program" 1200 || give_up "test_$program fails without a fault"
  seconds[$program]=$((SECONDS - begin))
done
mapfile -t programs < <(for program in "${programs[@]}"; do echo "${seconds[$program]} $program"; done | sort -n | cut -d' ' -f2)

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
  [[ " ${targets[*]} " != *" test_$own "* ]] || first=(tenon tenon-probe "test_$own")  # what is killed by these needs no others
  sed -i "$3" "$file"
  if git diff --quiet -- "$file"; then
    report "fits nothing" "$file" "$what"
    return
  fi
  place=$file:$(git diff -U0 -- "$file" | sed -n 's/^@@ -\([0-9]*\).*/\1/p' | head -n 1)
  if ! cmake --build build --target "${first[@]}" >"$log" 2>&1; then
    report "does not build" "$place" "$what"
  else
    for program in $(printf '%s\n' "${programs[@]}" | grep -x "$own") $(printf '%s\n' "${programs[@]}" | grep -vx "$own"); do
      if ! run "$program" $((20 + 4 * seconds[$program])); then
        report killed "$place" "$what" "$program"
        break
      fi
      [[ $program != "$own" ]] || cmake --build build --target "${targets[@]}" >"$log" 2>&1 || give_up "$place: $what: only some programs build"
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
      report "fits nothing" "$end" "$name: ${#files[@]} files are called so"
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
echo "score: ${of[killed]} of $tried killed ($((tried ? 100 * of[killed] / tried : 0)) %), seed $seed; ${of["does not build"]} did not build, ${of["fits nothing"]} fitted nothing"

#!/usr/bin/env bash
# run.sh [--build FOLDER] [OPTIONS of micro/run.py]: builds and runs the microbenchmarks, each with
# its floor in the same run, and prints one table. --build: a configured build folder; default:
# build, configured with the preset `default`.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=build
if [[ ${1:-} == --build ]]; then
  folder=$2
  shift 2
else
  cmake --preset default >/dev/null
fi
programs=$(cd tests/bench && sed -n 's/.*Row("\([a-z_]*\)".*/bench_\1/p' micro/rows.py | sort -u)
have=$(cmake --build "$folder" --target help | sed -n 's/^\(bench_[a-z_]*\): phony$/\1/p')
wanted=()
for program in $programs bench_primitives; do
  ! grep -qx "$program" <<<"$have" || wanted+=("$program")
done
if ((${#wanted[@]} == 0)); then
  echo "run.sh: $folder has no benchmarks; configure it with -DTENON_BUILD_BENCH=ON first" >&2
  exit 1
fi
cmake --build "$folder" --target "${wanted[@]}" >/dev/null
python=/usr/bin/python3  # Debian's, which has numpy
"$python" -c 'import numpy' 2>/dev/null || python=python3
exec env PYTHONDONTWRITEBYTECODE=1 "$python" tests/bench/micro/run.py "$folder/tests" "$@"

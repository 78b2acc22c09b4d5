#!/usr/bin/env bash
# typing.sh BUILD: mypy --strict accepts what `tenon typing` writes, and all of typed_calls.py
# except the marked lines. Exits with 77 (skipped) without mypy, or if mypy cannot find numpy.
set -euo pipefail
PATH=$(realpath "$1")/venv/bin:$PATH  # mypy as installed by run.sh
command -v mypy >/dev/null || { echo "skipped: mypy is missing (pip install mypy numpy)"; exit 77; }
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache MYPY_CACHE_DIR=$work/mypy
mypy -c 'import numpy' >/dev/null ||
  { echo "skipped: mypy does not find numpy (pip install it in the same environment)"; exit 77; }

# The package, as far as types need it.
mkdir -p "$work/tenon/_graph"
cp host/python/tenon/typing.py tests/house/typed_calls.py "$work/tenon"
mv "$work/tenon/typed_calls.py" "$work"
printf '%s\n' 'from pathlib import Path' 'from tenon import ops as ops' '' \
  'def add_plugins(path: Path) -> None: ...' >"$work/tenon/__init__.pyi"
printf '%s\n' 'from collections.abc import Iterator' '' 'class Value:' \
  '    def __iter__(self) -> Iterator[Value]: ...' >"$work/tenon/_graph/value.pyi"
touch "$work/tenon/_graph/__init__.pyi" "$work/tenon/py.typed"
"${CXX:-g++}" -std=c++20 -fPIC -shared -fvisibility=hidden -Isdk/include \
  tests/faults/speaks_markup.cpp -o "$work/speaks_markup.so"
"$build/tenon" typing -o "$work/tenon/ops.pyi"
"$build/tenon" --plugins "$work/speaks_markup.so" typing -o "$work/all.pyi"
for plugin in "$build"/tests/examples/*.so "$build"/plugins/*.so "$work/speaks_markup.so"; do
  name=made_$(basename "$plugin" .so)
  # some plugins have only kernels
  "$build/tenon" typing "$plugin" -o "$work/$name.py" 2>/dev/null || rm -f "$work/$name.py"
done
cd "$work"
(($(ls made_*.py | wc -l) >= 15)) || { echo "fewer than 15 modules"; exit 1; }
mypy --strict tenon made_*.py all.pyi
mypy --strict typed_calls.py >found && { echo "mypy accepts all of typed_calls.py"; exit 1; }
diff <(grep -n '# refused$' typed_calls.py |
  cut -d: -f1) <(sed -n 's/^typed_calls\.py:\([0-9]*\): error:.*/\1/p' found | sort -nu) ||
  {
    cat found
    echo "typed_calls.py: mypy rejects other lines than those marked as refused"
    exit 1
  }

#!/usr/bin/env bash
# each_case_once.sh PROGRAM FILTER...: the source filters that ctest's entries use cover every case
# of a doctest program exactly once.
set -euo pipefail
program=$1
shift
cases() { "$program" --list-test-cases --no-skip=true "$@" | grep -v '^\[doctest\]\|^=*$' | sort; }
for filter in "$@"; do
  some=$(cases "-sf=$filter")
  [[ -n $some ]] || { echo "no cases match $filter"; exit 1; }
  echo "$some"
done | sort | diff - <(cases) ||
  { echo "(<: in two entries or in no source; >: in no entry)"; exit 1; }

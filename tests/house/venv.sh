#!/usr/bin/env bash
# venv.sh FOLDER PYTHON REQUIREMENT...: a virtual environment of that Python with what pip takes as requirements (NAME>=1, -r FILE). One that
# is there already with the same requirements stays. Exits 77 where it cannot be made, as without a network, and says why in its last line.
set -euo pipefail
folder=$1 python=$2
shift 2
wanted=$("$python" -c 'import sys; print(sys.version)'; printf '%s\n' "$@"
  for word in "$@"; do [[ ! -f $word ]] || cat "$word"; done)
[[ ! -f $folder/made-of || $(<"$folder/made-of") != "$wanted" ]] || exit 0
rm -rf "$folder"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$python" -m venv "$folder" >"$log" 2>&1 || { tail -3 "$log"; echo "$python makes no virtual environment (apt install python3-venv)"; exit 77; }
# --retries: without a network it should not take minutes to say so.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 "$@" >"$log" 2>&1 ||
  { tail -5 "$log"; echo "pip cannot install $*"; rm -rf "$folder"; exit 77; }
printf '%s\n' "$wanted" >"$folder/made-of"

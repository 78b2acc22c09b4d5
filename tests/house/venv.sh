#!/usr/bin/env bash
# venv.sh FOLDER PYTHON REQUIREMENT...: creates a virtual environment of that Python with pip
# requirements (NAME>=1, -r FILE). An existing one with the same requirements is reused. Exits with
# 77 if it cannot be created, for example without a network, with the reason in its last line.
set -euo pipefail
folder=$1 python=$2
shift 2
wanted=$("$python" -c 'import sys; print(sys.version)'; printf '%s\n' "$@"
  for word in "$@"; do [[ ! -f $word ]] || cat "$word"; done)
[[ ! -f $folder/made-of || $(<"$folder/made-of") != "$wanted" ]] || exit 0
rm -rf "$folder"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$python" -m venv "$folder" >"$log" 2>&1 ||
  {
    tail -3 "$log"
    echo "$python makes no virtual environment (apt install python3-venv)"
    exit 77
  }
# --retries: fail quickly without a network.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 \
  "$@" >"$log" 2>&1 ||
  { tail -5 "$log"; echo "pip cannot install $*"; rm -rf "$folder"; exit 77; }
printf '%s\n' "$wanted" >"$folder/made-of"

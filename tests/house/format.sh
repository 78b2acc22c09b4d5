#!/usr/bin/env bash
# ruff format for Python, and its check of the lines' length, if ruff is installed, and clang-format
# for everything except the examples and tests/data, which keep their original formatting, and the
# template, which is not C++ yet.
# Exits with 77 (skipped) without clang-format 14.
set -euo pipefail
cd "$(dirname "$0")/../.."
ruff=$(command -v ruff || compgen -G 'build*/venv/bin/ruff' | head -n 1) || true
if [[ -n $ruff ]]; then
  "$ruff" format --quiet --check --diff --no-cache --config host/python/pyproject.toml host sdk \
    plugins tests
  "$ruff" check --quiet --select E501 --no-cache --config host/python/pyproject.toml host sdk \
    plugins tests
else
  echo "Python is not checked: ruff is missing (pip install ruff)"
fi
format=$(command -v clang-format-14 || command -v clang-format) ||
  { echo "skipped: clang-format is missing (apt install clang-format)"; exit 77; }
"$format" --version | grep -q 'version 14\.' ||
  { echo "skipped: $("$format" --version); this repository is formatted by version 14"; exit 77; }
find host sdk plugins tests \( -path tests/examples -o -path tests/data -o -path sdk/template \) \
  -prune -o \
  -regex '.*\.\(hpp\|cpp\|h\|c\|cu\)' -print0 |
  xargs -0 -n 32 -P "$(nproc)" "$format" --dry-run -Werror

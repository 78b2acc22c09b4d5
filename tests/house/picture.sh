#!/usr/bin/env bash
# picture.sh BUILD: the README's picture of a graph shows the demo's perceptron as `tenon show
# --svg` draws it now. Positions differ between versions of graphviz, so only words and edges are
# compared. Exits with 77 (skipped) without graphviz.
set -euo pipefail
command -v dot >/dev/null || { echo "skipped: dot is missing (apt install graphviz)"; exit 77; }
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
grep -q 'host/demo/digits\.svg' README.md ||
  { echo "README.md does not show host/demo/digits.svg"; exit 1; }
grep -q 'demo/training\.svg' host/docs/training.md ||
  { echo "host/docs/training.md does not show host/demo/training.svg"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

g++ -std=c++20 -O1 -fPIC -shared -fvisibility=hidden -Isdk/include host/demo/half_square.cpp \
  -o "$work/half_square.so"
"$build/tenon" --plugins "$work" show host/demo/mlp.json --svg "$work/digits.svg"
words() { grep -oP '<(title|text)\b[^>]*>\K[^<]*' "$1" | sort; }
diff <(words host/demo/digits.svg) <(words "$work/digits.svg") ||
  { echo "host/demo/digits.svg differs from what tenon show --svg draws; regenerate it"; exit 1; }

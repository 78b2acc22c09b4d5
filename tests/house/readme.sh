#!/usr/bin/env bash
# readme.sh: the README's plugin has ten lines and compiles with the README's g++ command; no page
# has a dead link.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```cpp$/ {inside = 1; next} /^```$/ {if (inside) exit} inside' \
  README.md >"$work/half_square.cpp"
lines=$(wc -l <"$work/half_square.cpp")
((lines == 10)) || { echo "README.md: the plugin has $lines lines, not ten"; exit 1; }

line=$(grep -m1 -oP '^ +\Kg\+\+ .*half_square\.cpp.*' README.md) ||
  { echo "README.md: no g++ line for half_square.cpp"; exit 1; }
line=${line//half_square/$work/half_square}
echo "$line"
$line -Wall -Wextra -Wpedantic -Werror
# -q would close the pipe early, and nm would fail
nm -D "$work/half_square.so" | grep ' tenon_op_v1__half_square$' >/dev/null

find . -name '*.md' -not -path './build*' -not -path './sdk/template/*' | while read -r page; do
  { sed '/^```/,/^```/d' "$page" | grep -oP '\]\(\K[^)#]+' | grep -v '://' || true; } |
    while read -r link; do
    [[ -e $(dirname "$page")/$link ]] || { echo "$page: broken link to $link"; exit 1; }
  done || exit 1
done

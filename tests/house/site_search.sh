#!/usr/bin/env bash
# site_search.sh BUILD: a browser opens the site of `tenon docs -o` from its folder, without a
# server: the search finds entries of the index, texts of plugins are escaped, and pages are
# complete. Exits with 77 (skipped) without Chromium.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
browser=
for name in chromium chromium-browser google-chrome chrome-headless-shell \
  "$HOME"/.cache/ms-playwright/chromium*/chrome-*/{chrome,chrome-headless-shell,headless_shell}; do
  [[ -n $browser ]] || browser=$(command -v "$name" || true)
done
[[ -n $browser ]] || { echo "skipped: Chromium is missing (apt install chromium)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
"${CXX:-g++}" -std=c++20 -fPIC -shared -fvisibility=hidden -I"$source/sdk/include" \
  "$source/tests/faults/speaks_markup.cpp" -o "$work/speaks_markup.so"
"$build/tenon" --plugins "$work/speaks_markup.so" docs -o "$work/site"

page() {  # page ADDRESS: the DOM that the browser renders
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
    --virtual-time-budget=5000 \
    --dump-dom "file://$work/site/$1" 2>"$work/browser"
}
faults=0
needs() {  # needs ADDRESS has|lacks TEXT...
  local address=$1 wanted=$2 text
  shift 2
  page "$address" >"$work/dom" || { cat "$work/browser"; exit 1; }
  for text in "$@"; do
    grep -qF -- "$text" "$work/dom" && found=has || found=lacks
    [[ $found == "$wanted" ]] ||
      { echo "$address $found but should not have: $text"; faults=$((faults + 1)); }
  done
}
needs 'index.html?q=relu' has \
  '<ol id="results" aria-live="polite"><li><a href="relu.html"><code>relu</code></a> ' \
  '<li><a href="leaky_relu.html"><code>leaky_relu</code></a> ' '<div id="everything" hidden="">'
needs 'index.html?q=relu' lacks '<li><a href="tanh.html"><code>tanh</code></a> x</li></ol>'
needs 'index.html?q=no+such+words' has 'No operators match.'
needs 'index.html' has '<ol id="results" aria-live="polite"></ol>' '<div id="everything">' \
  '<li><a href="tanh.html">'
# by its alias
needs 'index.html?q=global' has \
  '<li><a href="lambda.html"><code>lambda</code></a> &lt;script&gt;document.title'
needs 'index.html?q=global' lacks '<title>forged'
needs 'lambda.html' lacks '<title>forged' '<b>' '<i>'
needs 'fully_connected.html' has '<h2 id="Inputs">' '<h2 id="Outputs">' '<h2 id="Parameters">' \
  '<h3 id="Python">' '<h3 id="C++">' \
  '<h3 id="graph.json">' '<dt>Gradient</dt>' '<dt>Storage</dt>' '<dt>Devices</dt>'
((faults == 0)) || exit 1

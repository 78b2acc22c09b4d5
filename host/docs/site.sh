#!/usr/bin/env bash
# site.sh OUT: builds the documentation site in OUT from the Markdown pages of this repository and from the docstrings of the Python package.
# Needs mkdocs, mkdocs-material and mkdocstrings[python] (host/docs/requirements.txt) in the Python environment that comes first in PATH.
# Fails if a link leads nowhere.
set -euo pipefail
out=$(realpath -m "${1:?usage: site.sh OUT}")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 host/docs/stage.py "$work"
(cd "$work" && NO_MKDOCS_2_WARNING=1 python3 -m mkdocs --quiet build --config-file mkdocs.yml)
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$work/site" "$out"
echo "$(find "$out" -name '*.html' | wc -l) pages: $out/index.html"

#!/usr/bin/env bash
# site.sh OUT TYPES: builds the documentation site in OUT from the Markdown pages of this
# repository, from the docstrings of the Python package, and from the comments of the C++ headers.
# TYPES: BUILD/python/tenon/_core.pyi of a build with -DTENON_PYTHON=ON, whose target
# tenon_core_types generates it. Needs doxygen, graphviz, and mkdocs, mkdocs-material and
# mkdocstrings[python] (host/docs/requirements.txt) in the Python environment that comes first in
# PATH. Fails if a link leads nowhere.
set -euo pipefail
out=$(realpath -m "${1:?usage: site.sh OUT TYPES}")
types=$(realpath "${2:?usage: site.sh OUT TYPES}")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 host/docs/stage.py "$work" "$types"
version=$(sed -n 's/^project(Tenon VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
sed "s#@PROJECT_SOURCE_DIR@#$PWD#g; s#@CMAKE_BINARY_DIR@#$work#; s#@PROJECT_VERSION@#$version#" \
  host/cmake/Doxyfile.in >"$work/Doxyfile"
printf '%s\n' 'GENERATE_XML = YES' 'XML_PROGRAMLISTING = NO' >>"$work/Doxyfile"
mkdir "$work/docs"
doxygen "$work/Doxyfile"
python3 host/docs/describe_reference.py "$work/docs/xml" \
  "$work/pages/sdk/docs/describe_reference.md"
# doxygen 1.9.4 links to a table of nested classes even if all are private and the page has no table
grep -L 'id="nested-classes"' "$work"/docs/html/*.html |
  xargs -d '\n' sed -i 's/<a href="#nested-classes">Classes<\/a>\( &#124;\)\?//'
mv "$work/docs/html" "$work/pages/reference/cpp"
# Not --quiet: mkdocs would then ignore warnings, such as dead links.
(cd "$work" && NO_MKDOCS_2_WARNING=1 python3 -m mkdocs build --config-file mkdocs.yml)
rm "$work/site/404.html"  # for servers: its links begin at the root
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$work/site" "$out"
echo "$(find "$out" -name '*.html' | wc -l) pages: $out/index.html"

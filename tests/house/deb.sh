#!/usr/bin/env bash
# deb.sh BUILD: builds the two packages; together they contain exactly what an installation
# installs, each file once.
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$build"/*.deb
cmake --build "$build" --target package
for package in tenon tenon-dev; do
  dpkg-deb -c "$build/$package"_*.deb | awk '$1 !~ /^d/ {print $6}' | sed 's#^\./usr/##'
done | sort >"$work/packed"
cmake --install "$build" --prefix "$work/usr" >/dev/null
(cd "$work/usr" && find . ! -type d | sed 's#^\./##' | sort) | diff - "$work/packed" ||
  { echo "(<: in no package; >: not in the installation, or in both packages)"; exit 1; }

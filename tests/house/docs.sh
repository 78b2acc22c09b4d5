#!/usr/bin/env bash
# docs.sh BUILD: the target docs generates the reference without warnings, including the classes
# that applications use.
set -euo pipefail
command -v doxygen >/dev/null || { echo "skipped: doxygen is missing"; exit 77; }
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s#^OUTPUT_DIRECTORY .*#OUTPUT_DIRECTORY = $work#" "$build/host/Doxyfile" >"$work/Doxyfile"
doxygen "$work/Doxyfile" 2>&1 | tee "$work/log"
[[ ! -s $work/log ]] || { echo "doxygen prints warnings"; exit 1; }
for name in Graph Session Trainer Host Tensor PreparedCall Failure PlanInfo sdk_1_1Operator \
  sdk_1_1Call; do
  compgen -G "$work/html/*tenon_1_1$name.html" >/dev/null ||
    { echo "the reference lacks $name"; exit 1; }
done

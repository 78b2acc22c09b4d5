#!/usr/bin/env bash
# graph_json.sh BUILD: each example in the graph.json reference is a graph that tenon validates and
# shows, and whose output it shows again; each key that the reader accepts is in the table and in an
# example of its section.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
page=$PWD/host/file/json/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache PATH="$build:$PATH"
cp tests/data/*.np[yz] "$work"
cd "$work"
# Files that an example reads as states.
echo '{"tenon": 1, "constants": {"four": {"values": [1, 2, 3, 4]}}, "outputs": {"y": "four"}}' \
  >four.json
tenon run four.json --output y=mean.npy
tenon run four.json --output y=variance.npz
rm four.json

faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}

# The examples: SECTION.N.json, where a section is a second-level heading.
awk '/^## / {section = tolower($2)}
     /^```json$/ {inside = 1; name = (section == "" ? "first" : section) "." ++n ".json"; next}
     /^```$/ {inside = 0} inside {print >name}' "$page"
examples=(*.json)
((${#examples[@]} >= 7)) ||
  fault "$page: ${#examples[@]} examples, but there are at least 7 sections"
for example in "${examples[@]}"; do
  tenon validate "$example" >/dev/null || fault "$page: tenon validate rejects example $example"
  tenon --json show "$example" >"again.${example%.json}" ||
    fault "$page: tenon show rejects example $example"
  mv "again.${example%.json}" shown.json
  tenon --json show shown.json | cmp -s - shown.json ||
    fault "$page: tenon show changes its own output of example $example"
  rm shown.json
done

# hint JSON: the reader's suggestion for an unknown word.
hint() {
  printf '%s' "$1" >probe.json
  tenon validate probe.json 2>&1 >/dev/null || true
}
# The table of a section, and the entry for a key in it.
rows() { awk -v section="## $1" '/^## / {inside = tolower($0) == section} inside && /^\| `/' \
  "$page"; }

unknown=no_such_key_anywhere
declare -A probes=([graph]='{"tenon": 1, "%s": 1}'
  [input]='{"tenon": 1, "inputs": {"a": {"%s": 1}}}'
  [variable]='{"tenon": 1, "variables": {"a": {"%s": 1}}}'
  [constant]='{"tenon": 1, "constants": {"a": {"%s": 1}}}'
  [state]='{"tenon": 1, "states": {"a": {"%s": 1}}}' [node]='{"tenon": 1, "nodes": [{"%s": 1}]}')
for section in "${!probes[@]}"; do
  keys=$(hint "${probes[$section]/\%s/$unknown}" | sed -n 's/^hint: available keys: //p' |
    tr -d ' ' | tr ',' ' ')
  [[ -n $keys ]] || fault "tenon does not say which keys a $section has"
  for key in $keys; do
    rows "$section" | cut -d'|' -f2 | grep -qF "\`$key\`" ||
      fault "$page: the table of section $section lacks the key '$key'"
    grep -qsF "\"$key\":" "$section".*.json ||
      fault "$page: no example of section $section has the key '$key'"
  done
  for key in $(rows "$section" | cut -d'|' -f2 | grep -oP '`\K[a-z_]+(?=`)'); do
    [[ " $keys " == *" $key "* ]] ||
      fault "$page: section $section has the key '$key', which tenon rejects"
  done
done

needs() {  # needs SECTION WHAT WORD...: each word is in the table
  local section=$1 what=$2
  shift 2
  (($#)) || fault "the error does not list the values of $what"
  for word in "$@"; do
    rows "$section" | grep -qw -- "$word" ||
      fault "$page: section $section lacks the $what '$word'"
  done
}
needs variable init $(hint '{"tenon": 1, "variables": {"a": {"init": "x"}}}' |
  sed 's/.*must be //' | grep -oP '"\K[a-z]+(?=")')
needs input dtype $(hint '{"tenon": 1, "inputs": {"a": {"dtype": "x"}}}' |
  sed 's/.*must be one of //' | tr -d ' ' | tr ',' ' ')
needs input storage $(hint '{"tenon": 1, "inputs": {"a": {"storage": "x"}}}' |
  sed 's/.*must be //; s/ or / /; s/,//g')
((faults == 0))

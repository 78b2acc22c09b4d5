#!/usr/bin/env bash
# must_say.sh SOURCE COMPILER OPTION...: compilation of each case must fail and say why. Prints
# every case that does not. A case is the text from a line "//! case NAME" to the next. It is
# compiled at the line "//! here" of the text before the first case, or after that text if it has no
# such line. The next line of a case has part of the first error: "// says: part of the SDK's
# sentence"; lines that begin with "//   " continue it. A line "// about: NAME" after it requires
# that the compiler names the parameter, input, output or state near the top; "// about: here", the
# line of the case that ends in "// here".
set -euo pipefail
shopt -s inherit_errexit
source=$1
shift

program() {  # of the case that begins in line $1; messages refer to lines of the source
  awk -v first="$1" -v source="$source" '
    function line(number) { printf "#line %d \"%s\"\n", number, source }
    NR == FNR {
      if (/^ *\/\/! case /) inside = FNR == first
      if (inside) text = text $0 "\n"
      next
    }
    /^ *\/\/! case / { exit }
    FNR == 1 { line(1) }
    /^ *\/\/! here$/ { line(first); printf "%s", text; text = ""; line(FNR + 1); next }
    { print }
    END { if (text) { line(first); printf "%s", text } }' "$source" "$source"
}

header() {  # what the case that begins in line $1 says, and in a second line what it is about
  awk -v first="$1" '
    NR <= first { next }
    NR == first + 1 { if (sub(/^ *\/\/ says: /, "")) says = $0; next }
    says && sub(/^ *\/\/   /, "") { says = says " " $0; next }
    { if (sub(/^ *\/\/ about: /, "")) about = $0; exit }
    END { print says; print about }' "$source"
}

check() {  # LINE COMPILER OPTION...: prints the fault of the case that begins in this line
  local first=$1 says about shown messages
  shift
  { read -r says; read -r about; } < <(header "$first")
  [[ $says ]] || { echo "the line after its name must be '// says: ...'"; return; }
  if messages=$(program "$first" | "$@" -fsyntax-only -x c++ - 2>&1); then
    echo "it compiles, but it holds a fault"
    return
  fi
  if ! grep -m1 -A1 'error:' <<<"$messages" | grep -qF "$says"; then
    printf '%s\n' "the first error does not say: $says" "$messages"
    return
  fi
  case $about in
    '') return ;;
    here)
      shown=$(awk -v first="$first" 'NR > first + 2 && /\/\/ here$/ { print NR; exit }' "$source")
      shown="$(basename "$source"):$shown:"
      ;;
    *) shown="Named<$(sed "s/./'&', /g; s/, \$//" <<<"$about")>" ;;
  esac
  head -20 <<<"$messages" | grep -qF "$shown" ||
    printf '%s\n' "the first 20 lines do not show $shown" "$messages"
}

cases=0 failed=0
while IFS=: read -r line name; do
  cases=$((cases + 1))
  fault=$(check "$line" "$@")
  [[ -z $fault ]] || { failed=$((failed + 1)); echo "$source:$line: case $name: $fault"; }
done < <(grep -noP '^ *//! case \K.+' "$source")
echo "$cases cases, $failed failed"
((cases && !failed))

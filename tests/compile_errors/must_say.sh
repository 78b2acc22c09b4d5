#!/usr/bin/env bash
# must_say.sh SOURCE COMPILER OPTION...: compilation must fail, and the first error must contain the
# text of the source's first line. A second line "// about: NAME" requires that the compiler names
# the parameter, input, output or state near the top; "// about: line N", the line.
set -euo pipefail
source=$1
shift
says=$(head -1 "$source" | grep -oP '^// says: \K.+') || { echo "$source: the first line must be '// says: ...'"; exit 1; }
if messages=$("$@" -fsyntax-only "$source" 2>&1); then
  echo "$source compiles, but it holds a fault"
  exit 1
fi
if ! grep -m1 -A1 'error:' <<<"$messages" | grep -qF "$says"; then
  echo "$source: the first error does not say: $says"
  echo "$messages"
  exit 1
fi
about=$(sed -n '2s|^// about: ||p' "$source")
case $about in
  '') exit 0 ;;
  line*) shown="$(basename "$source"):${about#line }:" ;;
  *) shown="Named<$(sed "s/./'&', /g; s/, \$//" <<<"$about")>" ;;
esac
if ! head -20 <<<"$messages" | grep -qF "$shown"; then
  echo "$source: the first 20 lines do not show $shown"
  echo "$messages"
  exit 1
fi

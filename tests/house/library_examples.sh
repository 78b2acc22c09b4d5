#!/usr/bin/env bash
# library_examples.sh COMPILER BUILD: the C++ programs in host/README.md and
# host/docs/graphs.md compile, and each prints the output shown below it. All are compiled as one
# file, each in a separate namespace.
set -euo pipefail
compiler=$1
build=$(realpath "$2")
cd "$(dirname "$0")/../.."
source=$PWD
pages=("$PWD"/host/{README,docs/graphs}.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work"

awk '/^```cpp$/ {inside = 1; cpp = 1; out = ++n ".cpp"; print FILENAME >(n ".page"); next}
  /^```python$/ {cpp = 0}
  /^```text$/ && cpp {inside = 1; out = n ".expected"; next}
  /^```$/ {inside = 0}
  inside {print >out}' "${pages[@]}"
count=$(ls ./*.cpp | wc -l)
((count >= 18)) || { echo "$count programs; the pages have at least 18"; exit 1; }
{
  grep -h '^#include' ./*.cpp | sort -u
  echo '#include <cstdlib>'
  for ((i = 1; i <= count; ++i)); do
    echo "namespace example_$i {"
    echo "#line 1 \"example_$i\""
    sed -e '/^#include/s/.*//' -e 's/^int main() {$/void run() {/' "$i.cpp"
    echo "}"
  done
  echo 'int main(int, char** arguments) {'
  echo '  switch (std::atoi(arguments[1])) {'
  for ((i = 1; i <= count; ++i)); do echo "    case $i: example_$i::run(); break;"; done
  echo '    default: return 1;'
  echo '  }'
  echo '}'
} >all.cc
"$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Werror -I"$source/sdk/include" \
  -I"$source/host/include" all.cc -o all -L"$build" -ltenon -Wl,-rpath,"$build"

for ((i = 1; i <= count; ++i)); do
  page=$(<"$i.page")
  ./all "$i" >"$i.printed" || { echo "$page: program $i fails"; exit 1; }
  diff "$i.expected" "$i.printed" ||
    { echo "$page: program $i prints something else (<: the page; >: the program)"; exit 1; }
done

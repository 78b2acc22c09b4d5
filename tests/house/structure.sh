#!/usr/bin/env bash
# Checks what the compiler cannot: includes respect the layering, files stay small, and nothing is
# unfinished. structure.sh [FOLDER]: the repository, or a copy of it. Prints each fault with its
# location; exits with 1 if there is one.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
shopt -s nullglob globstar

faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}

# Allowed at the top level, besides dot-files.
top=" CMakeLists.txt CMakePresets.json README.md LICENSE host sdk plugins schemas tests "
for entry in $(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u); do
  [[ $entry == .* || $top == *" $entry "* ]] ||
    fault "$entry: only four files and five folders are allowed at the top level"
done

# Layers: a folder of the host may include itself and the folders before it; folders of the same
# number must not include each other.
declare -A place=([io]=1 [device]=2 [tensor]=3 [isolate]=4 [plugin]=5 [graph]=6 [file]=7 [plan]=7
  [run]=8 [pack]=9 [train]=9 [check]=9 [draw]=10 [onnx]=11 [serve]=12 [cli]=13 [python]=13)
for folder in host/*/; do
  folder=$(basename "$folder")
  [[ -n ${place[$folder]:-} || " include cmake demo docs " == *" $folder "* ]] ||
    fault "host/$folder: this folder has no position in the include order"
done

# The program uses the library like any application. Only these are compiled into it, as in
# host/CMakeLists.txt.
in_program=" serve/model_folder.hpp serve/signature.hpp io/atomic_file.hpp io/child.hpp"
in_program+=" io/counted.hpp io/json_text.hpp io/open_file.hpp io/system_reason.hpp io/utf8.hpp "

# Headers of run that training includes, besides the public ones.
shared_with_train=" run/impl_access.hpp run/one_thread.hpp run/shared_values.hpp run/warnings.hpp "

includes() {  # file:line:<name> or file:line:"name" of every include in these files
  grep -HnoP '^\s*#\s*include\s*\K[<"][^>"]*[>"]' "$@" /dev/null || true
}

sources=(host/**/*.{hpp,cpp,h,cu})
# Paths older than 0.2 are for applications only; these two are in the SDK.
old_in_sdk=" lanes.hpp launcher.hpp "
while IFS=: read -r file line name; do
  [[ $name != "<tenon/"* || $name == "<tenon/"*/* || $name == "<tenon/tenon.hpp>" ||
    ! -e host/include/${name:1:-1} && $old_in_sdk != *" ${name:7:-1} "* ]] ||
    fault "$file:$line: $name is an old path; write <tenon/host/...>"
done < <(includes "${sources[@]}" tests/**/*.{hpp,cpp})
while IFS=: read -r file line name; do
  from=${file#host/}
  from=${from%%/*}
  to=${name:1:-1}
  to=${to%%/*}
  if [[ $from == include ]]; then
    # The host's public headers must not expose the libraries that it uses.
    [[ $name == "<tenon/"* || $name != */* && $name == "<"* && $name != *.h* ]] ||
      fault "$file:$line: public headers include <tenon/...> and the standard library, not $name"
  elif [[ $from == cli && $name == \"* && $to != cli && $name != '"template_files.hpp"' &&
    $in_program != *" ${name:1:-1} "* ]]; then
    fault "$file:$line: the program includes public headers <tenon/...> and its own, not $name"
  elif [[ $from == serve && $name == \"* && $to != serve && $name != '"io/counted.hpp"' &&
    $name != '"tensor/dtype_traits.hpp"' ]]; then
    fault "$file:$line: the server's backend includes public headers <tenon/...> and its own, not" \
      "$name"
  elif [[ $from == python && $name == \"* && $name != \"python/* ]]; then
    fault "$file:$line: the Python module includes public headers <tenon/...> and its own" \
      "\"python/...\", not $name"
  elif [[ $from == train && $to == run && $shared_with_train != *" ${name:1:-1} "* ]]; then
    fault "$file:$line: training uses sessions and graphs through their interfaces, not through" \
      "$name"
  elif [[ $name == \"*plugins/* || $name == \"../* ]]; then
    fault "$file:$line: $name: includes are written relative to host/, and the host never" \
      "includes plugins"
  elif [[ $name == \"*/* && -n ${place[$to]:-} && $from != "$to" ]] &&
    ((${place[$from]:-0} <= ${place[$to]})); then
    fault "$file:$line: host/$from may not include host/$to, which is not before it in the" \
      "include order: $name"
  fi
done < <(includes "${sources[@]}")

# Its hints are for applications and the Python package, too. The loader's options do not belong to
# the program.
while IFS=: read -r file line text; do
  fault "$file:$line: only the program may mention its options: write a hint that suits" \
    "applications; host/cli/print/report.cpp adds the option"
done < <(grep -nE '^[^/]*"[^"]*--[a-z]' "${sources[@]}" |
  grep -vE '^host/(cli/|plugin/loading/system_loader\.cpp:)' || true)

# The SDK may use the standard library, itself, CUDA's headers, and the loader's dladdr() for
# plugin_folder().
while IFS=: read -r file line name; do
  target=${name:1:-1}
  [[ $name == "<tenon/"* && -e sdk/include/$target || $name == \"* && -e ${file%/*}/$target ||
    $name == "<"* && $name != */* && $name != *.h* ||
    $name =~ ^\<(stddef|stdint|string|math|float)\.h\>$ ||
    $file:$name == */plugin_folder.hpp:"<dlfcn.h>" || $name == "<cuda"*".h>" ||
    $name == "<cuda/"* || $name == "<cub/"* ]] ||
    fault "$file:$line: the SDK depends on nothing but the standard library and itself, not on" \
      "$name"
done < <(includes sdk/include/**/*.{hpp,h})

while IFS=: read -r file line name; do
  target=${name:1:-1}
  if [[ $name == "<tenon/"* && ! -e sdk/include/$target ]]; then
    fault "$file:$line: plugins may only use the SDK, and $name is not part of it"
  elif [[ $name == \"* ]]; then
    inside=${file#plugins/}
    up=${inside%/*}
    up=${up//[^\/]/}
    up=../${up//\//../}  # from the file's folder to plugins/
    [[ $target != ../* && (-e ${file%/*}/$target || -e plugins/${inside%%/*}/$target) ||
      $target == "${up}shared/"* && -e ${file%/*}/$target ]] ||
      fault "$file:$line: plugins include their own folder, plugins/shared and the SDK, not $name"
  fi
done < <(includes plugins/**/*.{hpp,cpp,h,cu})

# Headers for operator authors must be documented: 25 % of the non-blank lines are comments or end
# with one. This excludes headers that only the SDK reads, and headers that only include another
# one.
inner=" gpu/sort_and_scan.hpp "
read_by_authors=()
for file in sdk/include/tenon/{,gpu/}*.{h,hpp} \
  sdk/include/tenon/elementwise/math/{functions,math}.hpp; do
  [[ $inner == *" ${file#sdk/include/tenon/} "* ]] || read_by_authors+=("$file")
done
while read -r file percent; do
  fault "$file: $percent % of its lines are comments; headers for authors need 25 %: document" \
    "shapes, errors, edge cases and an example for each group"
done < <(awk '
  function tell() {
    if (lines && 4 * comments < lines && !(includes == 1 && !other))
      print file, int(100 * comments / lines)
  }
  FNR == 1 { tell(); file = FILENAME; lines = comments = includes = other = open = 0 }
  /^[ \t]*$/ { next }
  { lines++; if (open || /\/\/|\/\*/) comments++ }
  !open && !/^[ \t]*(\/\/|\/\*|#pragma once)/ { if (/^#include/) includes++; else other++ }
  { if (/\/\*/) open = 1; if (/\*\//) open = 0 }
  END { tell() }' "${read_by_authors[@]}")

ours=({host,sdk,plugins,schemas}/**/*.{hpp,cpp,h,cu,fbs,cmake,txt,sh,in,py,pyi,toml}
  tests/**/*.{hpp,cpp,c,cu,sh,cmake,txt,py} CMakeLists.txt)
while read -r lines file; do
  [[ $file != total ]] || continue
  ((lines <= 570)) || fault "$file: $lines lines; files may have at most 570"
  name=${file##*/}
  [[ ! $name =~ ^(utils?|helpers?|common|misc|manager)([._]|$) ]] ||
    fault "$file: name it after its one concept"
  depth=${file//[^\/]/}
  deepest=4
  [[ $file != */include/* ]] || deepest=5
  ((${#depth} <= deepest)) ||
    fault "$file: folders may be at most three levels below a top folder, four below include/"
done < <(wc -l "${ours[@]}")
while read -r file; do
  fault "$file: no #pragma once"
done < <(printf '%s\n' "${ours[@]}" | grep '\.hpp$' | xargs grep -L '^#pragma once')

# The formatters wrap neither comments and literals nor scripts. Exempt are a page's example, texts
# in the form in which a program writes them, sources of 0.1.0, and here-documents.
wide=" host/cmake/Doxyfile.in host/python/examples/digits.py tests/file/sample_json.hpp"
wide+=" tests/mutate/known.txt tests/onnx/passing.txt tests/onnx/schemas.txt "
while IFS=: read -r file line; do
  [[ $wide == *" $file "* || $file == tests/data/v0.1.0/* ]] ||
    fault "$file:$line: a line of more than 100 columns"
done < <(printf '%s\n' "${ours[@]}" tests/**/*.h | LC_ALL=C xargs awk '
  FNR == 1 { end = "" }
  end != "" { if ($0 == end) end = ""; next }
  FILENAME ~ /\.sh$/ && match($0, /<<\047?[A-Z][A-Z0-9]*/) {
    end = substr($0, RSTART + 2, RLENGTH - 2)
    sub(/^\047/, "", end)
  }
  { gsub(/[\200-\277]/, "") }  # further bytes of a character in UTF-8
  length > 100 { print FILENAME ":" FNR }')

# A folder of more files shows no parts. Headers of three lines are former paths of others.
while read -r count folder; do
  ((count <= 40)) || fault "$folder: $count files; folders may have at most 40"
done < <(git ls-files 2>/dev/null |
  grep -vxFf <(grep -lE '^// The former (name|path) of' sdk/include/tenon/*.hpp) |
  sed -n 's|/[^/]*$||p' | sort | uniq -c)

# Markers of unfinished work.
while IFS=: read -r file line text; do
  fault "$file:$line: unfinished: $text"
done < <(grep -rnwiE 'TODO|FIXME|XXX|HACK|WIP|stubs?|unimplemented|not (yet )?implemented' host \
  sdk plugins schemas 2>/dev/null | grep -vE '[Tt]ype stubs?|stub file|(only|print) the stubs' ||
  true)

# The table of stages and their parts.
while read -r row; do
  fault "tests/README.md: its table and tests/run.sh --list differ: $row"
done < <(diff <(bash tests/run.sh --list) <(sed -nE 's/^\| `(\w+)` \| `(\w+)`.*/\1 \2/p' \
  tests/README.md) | grep '^[<>]' || true)

((faults == 0)) || { echo "$faults faults"; exit 1; }

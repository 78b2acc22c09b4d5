#!/usr/bin/env bash
# package.sh BUILD: installs the build into a separate folder, moves that folder, and builds the
# scaffold of `tenon new` against it, then a plugin with pkg-config. scaffolds.sh builds against the
# build tree, except in builds with sanitizers, where this script does.
# Manual, completions, documents, examples, licence and schema are in their places, and the
# installed program finds the installed plugins.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
sanitized=$(sed -n 's/^TENON_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/usr"

cd "$work"
"$work/usr/bin/tenon" new my_operator
cd "$work/my_operator"
packages=("-DCMAKE_PREFIX_PATH=$work/usr")
[[ -z $sanitized ]] || packages+=("-DTenon_DIR=$build/cmake")
for package in "${packages[@]}"; do
  echo "== $package"
  rm -rf build
  cmake -B build "$package" -DCMAKE_BUILD_TYPE=Debug >/dev/null
  cmake --build build
  ctest --test-dir build --output-on-failure
done

echo "== pkg-config"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name tenon-sdk.pc)")
if command -v pkg-config >/dev/null; then
  mkdir plugins  # the operator's space is the file's name
  g++ -std=c++20 -O2 -fPIC -shared $(pkg-config --cflags tenon-sdk) my_operator.cpp \
    -o plugins/my_operator.so
  g++ -std=c++20 $(pkg-config --cflags tenon) my_operator_test.cpp -o by_hand \
    $(pkg-config --libs tenon)
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir tenon) ./by_hand plugins/my_operator.so
else
  echo "skipped: pkg-config is missing"
fi

echo "== other installed files"
cd "$work/usr/share"
for file in doc/tenon/{copyright,README.md,CHANGELOG.md} \
  doc/tenon/host/{README.md,file/json/README.md,docs/training.md,demo/mlp.json} \
  doc/tenon/sdk/{README.md,docs/kernels.md} \
  doc/tenon-dev/copyright doc/tenon/examples/quadratic.cpp tenon/schemas/graph.fbs; do
  [[ -s $file ]] || { echo "share/$file is missing"; exit 1; }
done
find doc/tenon -name '*.md' | while read -r page; do
  { sed '/^```/,/^```/d' "$page" | grep -oP '\]\(\K[^)#]+' | grep -v '://' || true; } |
    while read -r link; do
    [[ -e $(dirname "$page")/$link ]] || { echo "share/$page: broken link to $link"; exit 1; }
  done || exit 1
done
cmp doc/tenon/copyright "$source/LICENSE"
for example in doc/tenon/examples/*.cpp; do echo "#include \"$PWD/$example\""; done |
  g++ -std=c++20 -fsyntax-only -I"$work/usr/include" -x c++ - ||
  { echo "the examples do not compile with the installed headers"; exit 1; }
if [[ -z $sanitized ]]; then
  grep -q '^\.TH TENON 1' man/man1/tenon.1
  # Each text mentions each command.
  "$work/usr/bin/tenon" --help | sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p' | sort -u >"$work/commands"
  [[ $(wc -l <"$work/commands") -ge 10 ]] || { echo "tenon --help lists too few commands"; exit 1; }
  for file in man/man1/tenon.1 bash-completion/completions/tenon \
    zsh/{site-functions,vendor-completions}/_tenon fish/vendor_completions.d/tenon.fish; do
    while read -r command; do
      grep -qw -- "$command" "$file" ||
        { echo "share/$file does not mention tenon $command"; exit 1; }
    done <"$work/commands"
  done
  bash -n bash-completion/completions/tenon
fi

echo "== the installed program"
"$work/usr/bin/tenon" list | grep quadratic >/dev/null ||
  { echo "tenon list does not show the installed operators"; exit 1; }

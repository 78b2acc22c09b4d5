#!/usr/bin/env bash
# package.sh BUILD: installs the build into a folder of its own, moves that folder, and builds the scaffold of `tenon new` against it
# and against the build tree; then a plugin by pkg-config, and the installed program finds the installed plugins.
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/usr"

cd "$work"
"$work/usr/bin/tenon" new my_operator
cd "$work/my_operator"
for package in "-DCMAKE_PREFIX_PATH=$work/usr" "-DTenon_DIR=$build/cmake"; do
  echo "== $package"
  rm -rf build
  cmake -B build "$package" >/dev/null
  cmake --build build
  ctest --test-dir build --output-on-failure
done

echo "== pkg-config"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name tenon-sdk.pc)")
if command -v pkg-config >/dev/null; then
  g++ -std=c++20 -O2 -fPIC -shared $(pkg-config --cflags tenon-sdk) my_operator.cpp -o by_hand.so
  g++ -std=c++20 $(pkg-config --cflags tenon) my_operator_test.cpp -o by_hand $(pkg-config --libs tenon)
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir tenon) ./by_hand by_hand.so
else
  echo "skipped: pkg-config is missing"
fi

echo "== the installed program"
"$work/usr/bin/tenon" list | grep quadratic >/dev/null || { echo "tenon list does not show the operators installed with it"; exit 1; }

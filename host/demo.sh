#!/usr/bin/env bash
# demo.sh: sets everything up, installs Tenon into a folder of its own, writes an operator outside of the tree, and uses it in a graph that
# reads handwritten digits. Everything it makes lies under build-demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

say "Set-up: packages, build, installation into build-demo/installed"
bash host/setup.sh
mkdir -p build-demo
log=build-demo/log.txt
cmake -G Ninja -B build-demo/build -DCMAKE_BUILD_TYPE=Release -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_BENCH=OFF \
  -DCMAKE_INSTALL_PREFIX="$PWD/build-demo/installed" >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build build-demo/build >>"$log" 2>&1 || { tail -50 "$log"; exit 1; }
rm -rf build-demo/installed build-demo/work
cmake --install build-demo/build >>"$log"
data=$PWD/tests/data demo=$PWD/host/demo
PATH="$PWD/build-demo/installed/bin:$PATH"
include=$PWD/build-demo/installed/include
mkdir -p build-demo/work/plugins
cd build-demo/work

say "An operator of our own: one source file, one compiler call, dropped into a folder"
cat "$demo/half_square.cpp"
set -x
g++ -std=c++20 -O2 -fPIC -shared -I"$include" "$demo/half_square.cpp" -o plugins/half_square.so
{ set +x; } 2>/dev/null
export TENON_PLUGIN_PATH=$PWD/plugins
tenon inspect half_square

say "Weights in a simple, honest way: the mean image of each digit over rows 0 to 1499, by a graph"
tenon run "$demo/templates.json" --input images="$data/digits_images.npy" --input labels="$data/digits_labels.npy" \
  --output templates=templates.npy

say "A graph that uses the operator: built, saved, drawn"
cp "$demo/digits.json" .
tenon build digits.json -o digits.tenon
tenon show digits.tenon
tenon show digits.tenon --svg digits.svg
tenon show digits.tenon --plan --shape images=297x64

say "Loaded in a new process and run on all digits; rows 1500 to 1796 were not seen before"
tenon run digits.tenon --input images="$data/digits_images.npy" --output digit=digit.npy
tenon --json run "$demo/confusion.json" --input digit=digit.npy --input label="$data/digits_labels.npy" >result.json
awk '
  /"accuracy"/ { part = "accuracy" } /"confusion"/ { part = "confusion" }
  /"values"/ { inside = 1; next } /\]/ { inside = 0 }
  inside { gsub(/[ ,]/, ""); if (part == "accuracy") accuracy = $0; else cell[n++] = $0 }
  END {
    print "true \\ read as    0    1    2    3    4    5    6    7    8    9"
    for (row = 0; row < 10; ++row) {
      printf "%13d", row
      for (column = 0; column < 10; ++column) printf "%5d", cell[10 * row + column]
      print ""
    }
    printf "read correctly: %.1f %%\n", 100 * accuracy
    exit !(n == 100 && accuracy > 0.85)
  }' result.json

say "The plugin is taken away: the graph still opens, and says what it lacks"
mv plugins/half_square.so half_square.so.away
tenon show digits.tenon | grep half_square
set +e
tenon run digits.tenon --input images="$data/digits_images.npy"
code=$?
set -e
echo "exit code $code"
((code == 3))
mv half_square.so.away plugins/half_square.so

say "Done. Look at build-demo/work: digits.tenon, digits.svg, plugins/half_square.so"

#!/usr/bin/env bash
# demo.sh: sets everything up, installs Tenon into a folder of its own, writes an operator outside of the tree, and trains two networks with it
# that read handwritten digits. Everything it makes lies under build-demo/. With nvcc and a GPU, CUDA's part is built for that GPU;
# TENON_CUDA=ON asks for it elsewhere, TENON_CUDA=OFF for none.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

say "Set-up: packages, build, installation into build-demo/installed"
bash host/setup.sh
mkdir -p build-demo
log=build-demo/log.txt
if [[ ! -e /dev/nvidia0 ]]; then
  cuda=${TENON_CUDA:-OFF}
  architectures=()
else
  cuda=${TENON_CUDA:-AUTO}
  architectures=(-DCMAKE_CUDA_ARCHITECTURES=native)
fi
case $cuda in
  OFF) echo "the build is for the CPU alone; TENON_CUDA=ON bash host/demo.sh builds CUDA's part, too, which takes longer" ;;
  *) echo "CUDA's part is built, too, where nvcc is; TENON_CUDA=OFF bash host/demo.sh leaves it out" ;;
esac
echo "the first build takes a few minutes; $log says how far it is"
cmake -G Ninja -B build-demo/build -DCMAKE_BUILD_TYPE=Release -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_BENCH=OFF -DTENON_CUDA="$cuda" \
  "${architectures[@]}" -DCMAKE_INSTALL_PREFIX="$PWD/build-demo/installed" >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build build-demo/build >>"$log" 2>&1 || { tail -50 "$log"; exit 1; }
rm -rf build-demo/installed build-demo/work
cmake --install build-demo/build >>"$log"
images=$PWD/tests/data/digits_images.npy labels=$PWD/tests/data/digits_labels.npy demo=$PWD/host/demo
PATH="$PWD/build-demo/installed/bin:$PATH"
include=$PWD/build-demo/installed/include
mkdir -p build-demo/work/plugins
cd build-demo/work

# train GRAPH OPTION...: on rows 0 to 1499 and the same moved. The other rows are looked at after each epoch, for the curves alone.
train() {
  local name=$1
  shift
  cp "$demo/$name.json" .
  tenon train "$name.json" -o "$name.tenon" --plot "$name.svg" --metrics "$name.jsonl" --accuracy scores=label --optimizer adamw \
    --data image=moved.npy --data label=moved-labels.npy --validate "image=$images[1500:]" --validate "label=$labels[1500:]" \
    --schedule cosine --epochs 20 "$@"
}

# confusion_table LEAST: from the result of confusion.json; fails where the accuracy is below LEAST.
confusion_table() {
  awk -v least="$1" '
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
      printf "read correctly: %.1f %%, and %g %% are asked for\n", 100 * accuracy, 100 * least
      exit !(n == 100 && accuracy >= least)
    }'
}

# try_out GRAPH LEAST: the trained graph, loaded in a new process, reads rows 1500 to 1796.
try_out() {
  tenon run "$1.tenon" --input "image=$images[1500:]" --output "digit=$1-digit.npy"
  tenon --json run "$demo/confusion.json" --input "digit=$1-digit.npy" --input "label=$labels[1500:]" | confusion_table "$2"
}

say "An operator of our own: one source file, one compiler call, dropped into a folder"
cat "$demo/half_square.cpp"
set -x
g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -I"$include" "$demo/half_square.cpp" -o plugins/half_square.so
{ set +x; } 2>/dev/null
export TENON_PLUGIN_PATH=$PWD/plugins
tenon inspect half_square

begin=$SECONDS
say "Examples: rows 0 to 1499, and each of them moved by half a pixel in four directions, by a graph"
tenon run "$demo/moved.json" --input "image=$images[:1500]" --input "label=$labels[:1500]" --output image=moved.npy --output label=moved-labels.npy

say "A perceptron of one hidden layer with half_square as its activation: trained, saved"
train mlp --learning-rate 0.002 --set weight_decay=0.1
say "Loaded in a new process: rows 1500 to 1796, on which nothing was trained"
try_out mlp 0.95

say "A convnet with half_square as its activation: trained, saved"
train convnet --learning-rate 0.003 --warm-up 50
say "Loaded in a new process: rows 1500 to 1796"
try_out convnet 0.97
echo "examples, training and tests took $((SECONDS - begin)) seconds"

say "The convnet as a graph: what it holds, how it is drawn, how it runs"
tenon show convnet.tenon
tenon show convnet.json --svg digits.svg
tenon show convnet.tenon --plan --shape image=297x64 --shape label=297

say "The plugin is taken away: the graph still opens, and says what it lacks"
mv plugins/half_square.so half_square.so.away
tenon show convnet.tenon | grep half_square
set +e
tenon run convnet.tenon --input "image=$images[1500:]" --input "label=$labels[1500:]"
code=$?
set -e
echo "exit code $code"
((code == 3))
mv half_square.so.away plugins/half_square.so

source "$demo/sparse.sh"

say "Done. Look at build-demo/work: mlp.tenon, convnet.tenon, their curves mlp.svg and convnet.svg, the graph digits.svg"

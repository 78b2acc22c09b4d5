#!/usr/bin/env bash
# demo.sh: writes an operator outside of the source tree and trains two networks with it that read
# handwritten digits. Builds what the first network needs, trains it, then builds the rest and
# installs Tenon into a folder of its own for everything after. All files are written to
# build-demo/. If nvcc and a GPU are found, CUDA kernels are built for that GPU; TENON_CUDA=ON
# builds them without a GPU, TENON_CUDA=OFF never.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
log=$root/build-demo/log.txt
say() { printf '\n== %s\n' "$*"; }

# progress: reads ninja's output and prints the number of steps that are done: in a terminal on one
# line that changes, otherwise on a line every 20 seconds.
progress() {
  local line steps='' begin=$SECONDS next=$((SECONDS + 20)) status
  while read -r -t 1 line || { status=$?; ((status > 128)); }; do  # above 128: no line for a second
    [[ ! $line =~ ^\[([0-9]+/[0-9]+)\] ]] || steps="${BASH_REMATCH[1]} steps, "
    if [[ -t 1 ]]; then
      printf '\rbuilding: %s%d s ' "$steps" $((SECONDS - begin))
    elif ((SECONDS >= next)); then
      echo "building: $steps$((SECONDS - begin)) s"
      next=$((SECONDS + 20))
    fi
  done
  [[ ! -t 1 ]] || printf '\r'
  echo "built:    $steps$((SECONDS - begin)) s"
}

# build TARGET...: builds these targets.
build() {
  cmake --build "$root/build-demo/build" --target "$@" 2>&1 | tee -a "$log" | progress ||
    { tail -50 "$log"; exit 1; }
}

say "Setup: packages, and a build of what the first network needs"
mkdir -p build-demo
bash host/setup.sh 2>&1 | tee build-demo/setup.txt |
  { grep --line-buffered '^setup:' || true; } || { cat build-demo/setup.txt; exit 1; }
if [[ ! -e /dev/nvidia0 ]]; then
  cuda=${TENON_CUDA:-OFF}
  architectures=()
else
  cuda=${TENON_CUDA:-AUTO}
  architectures=(-DCMAKE_CUDA_ARCHITECTURES=native)
fi
case $cuda in
  OFF)
    echo "building for the CPU only; TENON_CUDA=ON bash host/demo.sh also builds CUDA kernels," \
      "which takes longer"
    ;;
  *)
    echo "building CUDA kernels as well, if nvcc is found; TENON_CUDA=OFF bash host/demo.sh" \
      "builds for the CPU only"
    ;;
esac
# -O2 for the plugins, which compute, and -Og for the host, as in CI: -O3 takes longer to compile.
# g++ saves a tenth of the time if it collects garbage later, and takes up to 1 GiB per job.
options="-Og -DNDEBUG"
memory=$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)
if ((memory / ($(nproc) + 2) > 1500000)) && "${CXX:-c++}" --version | grep -q 'Free Software'; then
  options+=" --param=ggc-min-heapsize=1000000"
fi
cmake -G Ninja -B build-demo/build -DCMAKE_BUILD_TYPE=Release \
  "-DCMAKE_CXX_FLAGS_RELEASE=$options" -DTENON_PLUGIN_OPTIONS=-O2 \
  -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_BENCH=OFF -DTENON_CUDA="$cuda" "${architectures[@]}" \
  -DCMAKE_INSTALL_PREFIX="$PWD/build-demo/installed" >"$log" 2>&1 || { cat "$log"; exit 1; }
build tenon tenon-probe tenon_{elementwise,linalg,nn,optim,reduce,shape}
rm -rf build-demo/installed build-demo/work
images=$PWD/tests/data/digits_images.npy labels=$PWD/tests/data/digits_labels.npy
demo=$PWD/host/demo
path=$PATH
PATH=$root/build-demo/build:$path
include=$root/sdk/include
mkdir -p build-demo/work/plugins
cd build-demo/work

# train GRAPH OPTION...: trains on rows 0 to 1499 and their moved copies. The other rows are only
# used after each epoch, for the validation curves.
train() {
  local name=$1
  shift
  cp "$demo/$name.json" .
  tenon train "$name.json" -o "$name.tenon" --plot "$name.svg" --metrics "$name.jsonl" \
    --accuracy scores=label --optimizer adamw --data image=moved.npy \
    --data label=moved-labels.npy --validate "image=$images[1500:]" \
    --validate "label=$labels[1500:]" --schedule cosine --epochs 20 "$@"
}

# confusion_table LEAST: prints the result of confusion.json; fails if the accuracy is below LEAST.
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
      printf "read correctly: %.1f %% (at least %g %% needed)\n", 100 * accuracy, 100 * least
      exit !(n == 100 && accuracy >= least)
    }'
}

# try_out GRAPH LEAST: runs the trained graph in a new process on rows 1500 to 1796.
try_out() {
  tenon run "$1.tenon" --input "image=$images[1500:]" --output "digit=$1-digit.npy"
  tenon --json run "$demo/confusion.json" --input "digit=$1-digit.npy" \
    --input "label=$labels[1500:]" | confusion_table "$2"
}

say "A custom operator: one source file, one compiler command, one folder"
cat "$demo/half_square.cpp"
set -x
g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -I"$include" "$demo/half_square.cpp" \
  -o plugins/half_square.so
{ set +x; } 2>/dev/null
export TENON_PLUGIN_PATH=$PWD/plugins
tenon inspect half_square

begin=$SECONDS
say "Training data: a graph moves rows 0 to 1499 by half a pixel in four directions"
tenon run "$demo/moved.json" --input "image=$images[:1500]" --input "label=$labels[:1500]" \
  --output image=moved.npy --output label=moved-labels.npy

say "Training a perceptron with one hidden layer and half_square as its activation"
train mlp --learning-rate 0.002 --set weight_decay=0.1
say "Testing it in a new process on rows 1500 to 1796, which training did not use"
try_out mlp 0.95
trained=$((SECONDS - begin))

say "The rest of Tenon, and installation into build-demo/installed"
build all
cmake --install ../build >>"$log"
PATH=$root/build-demo/installed/bin:$path
include=$root/build-demo/installed/include

begin=$((SECONDS - trained))
say "Training a convnet with half_square as its activation"
train convnet --learning-rate 0.003 --warm-up 50
say "Testing it in a new process on rows 1500 to 1796"
try_out convnet 0.97
echo "examples, training and tests took $((SECONDS - begin)) seconds"

say "The convnet's graph: summary, drawing, execution plan"
tenon show convnet.tenon
tenon show convnet.json --svg digits.svg
tenon show convnet.tenon --plan --shape image=297x64 --shape label=297

say "Without the plugin, the graph still opens and names the missing operator"
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

say "Done. Look at build-demo/work: mlp.tenon, convnet.tenon, their curves mlp.svg and" \
  "convnet.svg, the graph digits.svg"
cat <<'END'
Next:
    export PATH=$PWD/build-demo/installed/bin:$PATH
    tenon --plugins build-demo/work/plugins call half_square --input x=random:2x3 --gradient
    tenon new my_operator    # a project with an operator of your own
END

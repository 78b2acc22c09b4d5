# sparse.sh: sourced by demo.sh, in build-demo/work. Trains on the digits as csr (about half of
# their pixels are 0) and as dense arrays, through an operator with its own csr kernel; then on
# Tenon's sources as hashed bags of words, which train a table of 65536 rows with row_sparse
# gradients.

say "An operator with a kernel for csr matrices, built out of tree and checked"
g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -I"$include" "$demo/row_unit.cpp" \
  -o plugins/row_unit.so
tenon check plugins/row_unit.so

say "A linear model on dense digits, and on the same digits as csr"
tenon run "$demo/to_csr.json" --input "image=$images[:1500]" --output image=train.npz
tenon run "$demo/to_csr.json" --input "image=$images[1500:]" --output image=test.npz
linear() {
  tenon --strict-storage train "$demo/linear.json" -o "$1.tenon" --data "image=$2" \
    --data "label=$labels[:1500]" --accuracy scores=label \
    --optimizer adam --learning-rate 0.03 --epochs 30 2>/dev/null
  tenon --strict-storage run "$1.tenon" --input "image=$3" --input "label=$labels[1500:]" \
    --output "digit=$1-digit.npy"
  tenon --json run "$demo/confusion.json" --input "digit=$1-digit.npy" \
    --input "label=$labels[1500:]" | confusion_table 0.88 | tail -1
}
linear dense "$images[:1500]" "$images[1500:]"
linear csr train.npz test.npz

say "Is it C++, CMake or Markdown? Tenon's own sources as hashed bags of words"
tree=${demo%/host/demo}
find "$tree"/{host,sdk,plugins,schemas,tests,README.md,CMakeLists.txt} -type f \
  \( -name '*.[ch]pp' -o -name '*.h' -o -name CMakeLists.txt -o -name '*.cmake' -o -name '*.md' \) |
  LC_ALL=C sort | LC_ALL=C xargs -d '\n' awk -f "$demo/words.awk"
tenon --strict-storage train "$demo/kinds.json" -o kinds.tenon --data words=train.svm:from-1 \
  --data kind=train.svm:labels \
  --accuracy scores=kind --optimizer adam --learning-rate 0.01 --epochs 10 --batch 32
tenon --strict-storage run kinds.tenon --input words=test.svm:from-1 --input kind=test.svm:labels \
  --output read_as=kinds.npy
tenon --json run "$demo/confusion.json" --input digit=kinds.npy --input label=test.svm:labels |
  confusion_table 0.8 | tail -1

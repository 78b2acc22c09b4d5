#!/usr/bin/env bash
# Processes with one GPU each, connected by NCCL, give the bits of processes without GPUs. With real
# GPUs, or with simulated ones and the NCCL of simulated/nccl.cpp. gpus.sh BUILD MPIRUN NCCL [MOST]:
# NCCL is the folder of libnccl.so.2.
set -uo pipefail
build=$(realpath "$1") mpirun=$2 most=${4:-4}
nccl=$(realpath "$3") here=$(cd "$(dirname "$0")" && pwd)
command -v "$mpirun" >/dev/null || { echo "skipped: there is no $mpirun"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# MPI leaks memory
export TENON_CACHE=$work/cache OMP_NUM_THREADS=1 ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
failed=0
fail() { echo "FAILED: $*"; failed=1; }
tenon() { LD_LIBRARY_PATH=$nccl "$build/tenon" --plugins "$build/plugins" --trust-writable "$@"; }
ranks() {
  local n=$1
  shift
  timeout -k 5 120 "$mpirun" --allow-run-as-root --oversubscribe --bind-to none -n "$n" "$@"
}
export -f tenon
export build nccl
gpus=$("$build/tenon" doctor | grep '^cuda:')
[[ -n $gpus ]] || { echo "skipped: there is no GPU"; exit 77; }
# Processes share a simulated GPU; each needs its own real one.
own_gpu() { [[ $gpus == *simulated* ]] || export CUDA_VISIBLE_DEVICES=$1; }
[[ $gpus == *simulated* ]] || most=$(wc -l <<<"$gpus")
((most >= 2)) || { echo "skipped: there is only one GPU"; exit 77; }
export gpus
export -f own_gpu

# Long and short vectors, which use different algorithms; numbers whose sums depend on their order;
# integers, and halves.
cat >all.json <<'E2'
{"tenon": 1,
 "inputs": {"x": {"dtype": "float32", "shape": [24, 3000]}, "s": {"dtype": "float32", "shape": [24]}, "i": {"dtype": "int32", "shape": [24, 5]}},
 "nodes": [
  {"name": "sum", "op": "all_reduce", "inputs": ["x"]},
  {"name": "mean", "op": "all_reduce", "inputs": ["s"], "attrs": {"reduction": "mean"}},
  {"name": "largest", "op": "all_reduce", "inputs": ["x"], "attrs": {"reduction": "max", "order": "library"}},
  {"name": "whole", "op": "all_reduce", "inputs": ["i"], "attrs": {"order": "library"}},
  {"name": "smallest", "op": "all_reduce", "inputs": ["i"], "attrs": {"reduction": "min"}},
  {"name": "half", "op": "cast", "inputs": ["s"], "attrs": {"dtype": "float16"}},
  {"name": "halves", "op": "all_reduce", "inputs": ["half"], "attrs": {"reduction": "mean"}},
  {"name": "whole_halves", "op": "cast", "inputs": ["halves"], "attrs": {"dtype": "float32"}},
  {"name": "for_one", "op": "all_reduce", "inputs": ["x"], "attrs": {"root": 1}},
  {"name": "in_leaves", "op": "all_reduce", "inputs": ["x"], "attrs": {"leaves": 7}},
  {"name": "part", "op": "reduce_scatter", "inputs": ["x"]},
  {"name": "short_part", "op": "reduce_scatter", "inputs": ["i"]},
  {"name": "gathered", "op": "all_gather", "inputs": ["s"]},
  {"name": "of_one", "op": "broadcast", "inputs": ["x"], "attrs": {"root": 1}},
  {"name": "dealt", "op": "all_to_all", "inputs": ["i"]}],
 "outputs": {"sum": "sum", "mean": "mean", "largest": "largest", "whole": "whole", "smallest": "smallest", "halves": "whole_halves",
             "for_one": "for_one", "in_leaves": "in_leaves", "part": "part", "short_part": "short_part", "gathered": "gathered", "of_one": "of_one",
             "dealt": "dealt"}}
E2
outputs="sum mean largest whole smallest halves for_one in_leaves part short_part gathered of_one"
outputs+=" dealt"
export outputs
cat >run.sh <<'E2'
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
to=() ; for name in $outputs; do to+=(--output "$name=$2-$rank-$name.npy"); done
[[ $1 == cpu ]] || own_gpu "${OMPI_COMM_WORLD_LOCAL_RANK:-$rank}"
tenon --device "$1" run all.json --seed "$rank" "${to[@]}"
E2
for ((n = 2; n <= most; ++n)); do
  ranks "$n" bash run.sh cpu "cpu$n" >log 2>&1 ||
    { tail -n 12 log; fail "$n processes without GPUs fail"; continue; }
  ranks "$n" bash run.sh cuda "cuda$n" >log 2>&1 ||
    { tail -n 12 log; fail "$n processes with GPUs fail"; continue; }
  for ((rank = 0; rank < n; ++rank)); do
    for name in $outputs; do
      cmp "cpu$n-$rank-$name.npy" "cuda$n-$rank-$name.npy" ||
        fail "$name of rank $rank of $n: the bits on a GPU differ"
    done
  done
  cmp -s "cpu$n-0-part.npy" "cpu$n-1-part.npy" &&
    fail "all processes have the same numbers, so the test proves nothing"
done

echo "-- the kernels run on the GPU"
ranks 2 bash -c 'tenon --device cuda show all.json --plan' >log 2>&1
[[ $(grep -cE '(all_reduce|reduce_scatter|all_gather|broadcast|all_to_all) +cuda' log) == 26 ]] ||
  { head -n 40 log; fail "some kernels run on the CPU"; }

echo "-- point-to-point calls, and calls that are rejected"
pair() {
  local inputs="{\"x\": {\"dtype\": \"float32\", \"shape\": [$1]}}"
  echo "{\"tenon\": 1, \"inputs\": $inputs, \"nodes\": [$2], \"outputs\": {\"y\": \"y\"}}"
}
pair 5 '{"name": "y", "op": "send", "inputs": ["x"], "attrs": {"to": 1}}' >pair0.json
pair 5 '{"name": "y", "op": "recv", "inputs": ["x"], "attrs": {"source": 0}}' >pair1.json
pair 5 '{"name": "y", "op": "all_reduce", "inputs": ["x"]}' >other0.json
pair 6 '{"name": "y", "op": "all_reduce", "inputs": ["x"]}' >other1.json
attrs='"attrs": {"order": "library", "timeout": 20}'
pair 5 '{"name": "y", "op": "all_reduce", "inputs": ["x"], '"$attrs}" >library0.json
pair 6 '{"name": "y", "op": "all_reduce", "inputs": ["x"], '"$attrs}" >library1.json
cat >each.sh <<'E2'
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
own_gpu "${OMPI_COMM_WORLD_LOCAL_RANK:-$rank}"
tenon --device cuda run "$1$rank.json" --seed "$rank" --output "y=$1$rank.npy"
E2
ranks 2 bash each.sh pair >log 2>&1 || { tail -n 12 log; fail "send and recv fail"; }
cmp pair0.npy pair1.npy || fail "send and recv: the bits differ"
for which in other library; do
  ranks 2 bash each.sh $which >log 2>&1 && fail "$which: tensors of different shapes"
  graphs='the processes run different graphs, or use tensors of different dtypes or shapes'
  grep -q "is in a different call than rank .: $graphs" log ||
    { tail -n 12 log; fail "$which: nothing says why"; }
done

echo "-- training with gradients reduced on the GPUs, and on the CPU without NCCL"
cat >mlp.json <<'E2'
{"tenon": 1,
 "inputs": {"image": {"dtype": "uint8", "shape": [-1, 64]}, "label": {"dtype": "uint8", "shape": [-1]}},
 "nodes": [
  {"name": "pixels", "op": "cast", "inputs": ["image"], "attrs": {"dtype": "float32"}},
  {"name": "fc1", "op": "fully_connected", "inputs": ["pixels"], "attrs": {"num_hidden": 300}},
  {"name": "norm", "op": "batch_norm", "inputs": ["fc1"]},
  {"name": "last", "op": "dropout", "inputs": ["norm"], "attrs": {"p": 0.1}},
  {"name": "scores", "op": "fully_connected", "inputs": ["last"], "attrs": {"num_hidden": 10}},
  {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}}
E2
digits=$here/../data
cat >train.sh <<'E2'
own_gpu "${OMPI_COMM_WORLD_LOCAL_RANK:-0}"
tenon --device cuda train mlp.json -o "$1" --data "image=$digits/digits_images.npy[0:300]" --data "label=$digits/digits_labels.npy[0:300]" \
  --batch 16 --micro-batches 4 --seed 3 --clip-norm 1 --epochs 2
E2
export digits
bash train.sh one.tenon >log 2>&1 || { tail -n 12 log; fail "training by one process fails"; }
for ((n = 2; n <= most; ++n)); do
  ranks "$n" bash train.sh "$n.tenon" >log 2>&1 ||
    { tail -n 12 log; fail "a training by $n processes"; continue; }
  cmp one.tenon "$n.tenon" || fail "$n processes with GPUs make another file"
  ! grep -q 'gradients are added on the CPU' log || { cat log; fail "NCCL is not used"; }
done
if [[ $gpus == *simulated* ]]; then
  # Each of ten steps sends 4 bytes for each of about 23,000 weights.
  SIMULATED_NCCL_LOG=$work/sent ranks 2 bash train.sh 2.tenon >log 2>&1
  (($(awk '{ bytes += $1 } END { print bytes + 0 }' sent) > 1500000)) ||
    fail "gradients are not reduced by NCCL"
  for which in 0 1 id; do
    SIMULATED_NCCL_FAILS=$which ranks 2 bash train.sh "fails-$which.tenon" >log 2>&1 ||
      { tail -n 12 log; fail "NCCL fails: $which"; }
    cmp one.tenon "fails-$which.tenon" || fail "NCCL fails: another file"
    [[ $(grep -c \
      'gradients are added on the CPU: .*NCCL failed to start on rank .: .*: simulated failure' \
      log) == 1 ]] ||
      { tail -n 12 log; fail "NCCL fails: no reason is reported"; }
  done
fi
nccl=$work ranks 2 bash train.sh without.tenon >log 2>&1 ||
  { tail -n 12 log; fail "a training without NCCL"; }
cmp one.tenon without.tenon || fail "training without NCCL writes a different file"
[[ $gpus != *simulated* || $(grep -c "gradients are added on the CPU" log) == 1 ]] ||
  { tail -n 12 log; fail "no message about adding on the CPU"; }

((failed == 0)) && echo "all passed"
exit $failed

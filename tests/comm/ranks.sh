#!/usr/bin/env bash
# Distributed training with a real mpirun: the resulting file does not depend on the number of
# processes; behaviour on failures. ranks.sh BUILD MPIRUN [MOST]: at most MOST processes (default
# 4). MPIRUN: mpirun.openmpi, mpirun.mpich or another MPICH's mpirun.
set -uo pipefail
build=$(realpath "$1") mpirun=$2 most=${3:-4}
here=$(cd "$(dirname "$0")" && pwd)
command -v "$mpirun" >/dev/null || { echo "skipped: there is no $mpirun"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# MPI leaks memory
export TENON_CACHE=$work/cache OMP_NUM_THREADS=1 ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
failed=0
fail() { echo "FAILED: $*"; failed=1; }
tenon() { "$build/tenon" --plugins "$build/plugins" --trust-writable "$@"; }

# ranks N COMMAND...: runs it with mpirun, for at most a minute.
ranks() {
  local n=$1
  shift
  case $mpirun in
    *openmpi*) timeout -k 5 60 "$mpirun" --allow-run-as-root --oversubscribe --bind-to none \
      -n "$n" "$@" ;;
    *) timeout -k 5 60 "$mpirun" -n "$n" "$@" ;;
  esac
}
# rank.sh sets `rank` to this process's rank.
cat >rank.sh <<'E2'
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
E2

digits=$here/../data
mlp='{"name": "fc1", "op": "fully_connected", "inputs": ["scaled"], "attrs": {"num_hidden": 24}},
  {"name": "act", "op": "relu", "inputs": ["fc1"]},
  {"name": "last", "op": "dropout", "inputs": ["act"], "attrs": {"p": 0.1}}'
convnet='{"name": "picture", "op": "reshape", "inputs": ["scaled"],
   "attrs": {"shape": [-1, 1, 8, 8]}},
  {"name": "conv", "op": "convolution", "inputs": ["picture"],
   "attrs": {"kernel": [3, 3], "num_filter": 4, "pad": [1, 1]}},
  {"name": "norm", "op": "batch_norm", "inputs": ["conv"]},
  {"name": "act", "op": "relu", "inputs": ["norm"]},
  {"name": "pool", "op": "max_pool", "inputs": ["act"],
   "attrs": {"kernel": [2, 2], "stride": [2, 2]}},
  {"name": "last", "op": "dropout", "inputs": ["pool"], "attrs": {"p": 0.2}}'
for net in mlp convnet; do
  cat >$net.json <<E2
{"tenon": 1,
 "inputs": {"image": {"dtype": "uint8", "shape": [-1, 64]}, "label": {"dtype": "uint8", "shape": [-1]}},
 "nodes": [
  {"name": "pixels", "op": "cast", "inputs": ["image"], "attrs": {"dtype": "float32"}},
  {"name": "scaled", "op": "quadratic", "inputs": ["pixels"], "attrs": {"b": 0.0625}},
  ${!net},
  {"name": "scores", "op": "fully_connected", "inputs": ["last"], "attrs": {"num_hidden": 10}},
  {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}}
E2
done
# A vocabulary of 400 words, five per line: the gradient of the table is row_sparse.
cat >words.json <<'E2'
{"tenon": 1,
 "inputs": {"words": {"dtype": "float32", "shape": [-1, 400], "storage": "csr"}, "label": {"dtype": "float32", "shape": [-1]}},
 "variables": {"table": {"dtype": "float32", "shape": [400, 6], "init": {"uniform": [-0.1, 0.1]}}},
 "nodes": [
  {"name": "mean", "op": "matmul", "inputs": ["words", "table"]},
  {"name": "scores", "op": "fully_connected", "inputs": ["mean"], "attrs": {"num_hidden": 3}},
  {"name": "whole", "op": "cast", "inputs": ["label"], "attrs": {"dtype": "int32"}},
  {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "whole"]}],
 "outputs": {"scores": "scores", "loss": "loss"}}
E2
awk 'BEGIN { x = 1; for (i = 0; i < 500; ++i) { line = i % 3; at = 0
  for (j = 0; j < 5; ++j) {
    x = (x * 1103515245 + 12345) % 2147483648; at += 1 + x % 79; line = line " " at ":" (j + 1)
  }
  print line } }' >words.svm

data_of() {
  if [[ $1 == words ]]; then
    echo "--data words=words.svm --data label=words.svm:labels"
  else
    echo "--data image=$digits/digits_images.npy[0:700]" \
      "--data label=$digits/digits_labels.npy[0:700] --accuracy scores=label"
  fi
}
# 700 rows are 5.5 steps of 8 micro-batches of 16: in the last step of an epoch, some processes have
# no micro-batch.
options() {
  echo "$(data_of "$1") --batch 16 --micro-batches ${micro_batches:-8} --seed ${seed:-3}" \
    "--clip-norm 1"
}
train() { # NET OUTPUT OPTION...
  local net=$1 output=$2
  shift 2
  # shellcheck disable=SC2046
  tenon train "$net.json" -o "$output" $(options "$net") "$@"
}
export -f tenon train options data_of
export build digits
run() { ranks "$1" bash -c 'train "$@"' - "${@:2}"; }

echo "-- every number of processes writes the same file"
for net in mlp convnet words; do
  train $net $net-1.tenon --epochs 2 >one.log 2>&1 ||
    { cat one.log; fail "$net on one process fails"; continue; }
  for ((n = 2; n <= most; ++n)); do
    if run $n $net $net-$n.tenon --epochs 2 >log 2>&1; then
      cmp $net-1.tenon $net-$n.tenon || fail "$net: $n processes write a different file"
    else
      cat log
      fail "$net on $n processes"
    fi
    [[ $(grep -c 'wrote' log) == 1 ]] ||
      { tail -n 12 log; fail "$net on $n processes: one of them reports what it wrote"; }
  done
done

echo "-- another number of processes resumes a checkpoint"
run 2 convnet part.tenon --epochs 1 --checkpoint c.tenon >log 2>&1 ||
  { tail -n 12 log; fail "the first epoch fails"; }
run $((most < 3 ? 1 : 3)) convnet whole.tenon --epochs 2 --checkpoint c.tenon --resume >log 2>&1 ||
  { tail -n 12 log; fail "the second epoch fails"; }
cmp convnet-1.tenon whole.tenon || fail "resumed: a different file is written"

# refused PATTERN: the last run failed, wrote no file, and printed a matching error.
refused() {
  local code=$?
  ((code != 0 && code != 124)) || fail "expected an error, but the exit code is $code: $1"
  grep -qE "$1" log || { tail -n 12 log; fail "no error matches: $1"; }
  [[ ! -e x.tenon ]] || fail "something was written"
}
run 2 mlp patient.tenon --epochs 2 --comm-timeout 1e10 >log 2>&1 ||
  { tail -n 12 log; fail "a time limit of 317 years is rejected"; }

echo "-- invalid runs are rejected"
run 2 mlp x.tenon --comm-timeout 0 >log 2>&1; refused 'comm_timeout is 0 but must be above 0'
cannot='tenon_comm.so communicates with other processes, which a worker process cannot'
ranks 2 "$build/tenon" --plugins "$build/plugins" --trust-writable --isolate all \
  call ranks >log 2>&1
refused "$cannot: do not isolate it"
micro_batches=1 run 2 mlp x.tenon >log 2>&1
refused 'micro_batches is 1 but must be at least 2, the number of processes'
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh; seed=$rank train mlp x.tenon' >log 2>&1
refused 'rank 1 differs from rank 0 in the seed: 1 instead of 0'
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh; rows=$((700 - rank)); tenon train mlp.json -o x.tenon \
  --micro-batches 2 --data image=$digits/digits_images.npy[0:$rows] \
  --data label=$digits/digits_labels.npy[0:$rows]' >log 2>&1
refused 'rank 1 differs from rank 0 in the number of examples: 699 instead of 700'
sed 's/0.0625/0.07/' mlp.json >other.json
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh; ((rank == 0)) && net=mlp || net=other; train $net x.tenon' >log 2>&1
grep -q 'rank 1 differs from rank 0 in the node number 1 of the graph' log ||
  { tail -n 12 log; fail "another graph"; }
rm -f x.tenon
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh; ((rank == 1)) && exit 3; train mlp x.tenon --comm-timeout 3' >log 2>&1
code=$?
((code != 0 && code != 124)) || fail "a process that never joins: exit code $code"

# In the second step the gradient of each micro-batch is finite, but their sum, which all processes
# see, is not.
awk 'BEGIN { for (i = 0; i < 8; ++i) print "0 1:" (i < 4 ? "0.001" : "3e38") }' >large.svm
cat >large.json <<'E2'
{"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 1], "storage": "csr"}},
 "variables": {"w": {"dtype": "float32", "shape": [1, 1], "init": "zeros"}},
 "nodes": [{"name": "products", "op": "matmul", "inputs": ["x", "w"]}, {"name": "loss", "op": "sum", "inputs": ["products"]}],
 "outputs": {"loss": "loss"}}
E2
infinite="^error: step 2 of epoch 0: the gradient of 'w' is not finite"
ranks 2 "$build/tenon" --plugins "$build/plugins" --trust-writable train large.json -o x.tenon \
  --data x=large.svm --no-shuffle --batch 2 --micro-batches 2 \
  --learning-rate 1e-30 --epochs 1 >log 2>&1
refused "$infinite; the sum over the step's micro-batches is too large"
[[ $(grep -c 'is too large' log) == 1 ]] ||
  { tail -n 12 log; fail "an error that all processes see is reported once"; }
tenon validate x.checkpoint.tenon >/dev/null || fail "the checkpoint of a step that failed"

echo "-- a process that is killed, and one that hangs"
# await FILE: waits until it exists, which shows that the training is under way.
await() {
  for ((i = 0; i < 300; ++i)); do [[ ! -e $1 ]] || return 0; sleep 0.1; done
  tail -n 12 log
  fail "no $1 after 30 s"
}
# exec replaces the shell, so that a launcher that kills it kills nothing else. 6 seconds, because
# the machine may be busy.
# shellcheck disable=SC2046
long() {
  exec "$build/tenon" --plugins "$build/plugins" --trust-writable train convnet.json -o x.tenon \
    $(options convnet) --epochs 1000 \
    --checkpoint k.tenon --checkpoint-every 3 --comm-timeout 6
}
export -f long
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh; echo $$ >pid.$rank; long' >log 2>&1 &
job=$!
await k.tenon
begin=$SECONDS
kill -9 "$(cat pid.1)"
wait $job
code=$?
((code != 0)) || fail "a killed process: exit code 0"
((SECONDS - begin <= 5)) || fail "a killed process: the others ended after $((SECONDS - begin)) s"
cp k.tenon resumed.tenon && tenon validate resumed.tenon >/dev/null ||
  fail "the checkpoint of a killed training is invalid"
rm -f k.tenon
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh; echo $$ >pid.$rank; long' >log 2>&1 &
job=$!
await k.tenon
# shellcheck disable=SC2046
# the program, and its child process that computes
kill -STOP "$(cat pid.1)" $(pgrep -P "$(cat pid.1)")
begin=$SECONDS
wait $job
code=$?
((code != 0 && code != 124)) || fail "a process that hangs: exit code $code"
((SECONDS - begin <= 20)) ||
  fail "a process that hangs: the others ended after $((SECONDS - begin)) s"
grep -qE 'step [0-9]+.*rank 0 has waited 6 s for rank 1' log ||
  { tail -n 12 log; fail "no error names the process that hangs"; }
kill -KILL "$(cat pid.1)" 2>/dev/null  # which also ends the other process

echo "-- a signal stops all processes after the same step"
rm -f x.tenon k.tenon
# shellcheck disable=SC2016
ranks 2 bash -c '. ./rank.sh
  train convnet s.tenon --epochs 1000 --checkpoint k.tenon --checkpoint-every 3 & child=$!
  while [[ ! -e k.tenon ]]; do sleep 0.1; done
  ((rank == 0)) || pkill -USR1 -P $child
  wait' >log 2>&1
tenon validate k.tenon >/dev/null 2>&1 || { tail -n 12 log; fail "no checkpoint after a signal"; }
grep -q 'interrupted after step' log || { tail -n 12 log; fail "no message about the signal"; }

((failed == 0)) && echo "all passed"
exit $failed

#!/usr/bin/env bash
# kills.sh BUILD TIMES: trainings on 2 to 4 processes of Open MPI, one of which is killed at a random moment: all end soon, the exit code says
# so, and with another number of processes the training goes on to the undisturbed file.
set -uo pipefail
build=$(realpath "$1") times=$2
digits=$(cd "$(dirname "$0")/../data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export TENON_CACHE=$work/cache OMP_NUM_THREADS=1
cat >net.json <<'JSON'
{"tenon": 1,
 "inputs": {"image": {"dtype": "uint8", "shape": [-1, 64]}, "label": {"dtype": "uint8", "shape": [-1]}},
 "nodes": [
  {"name": "pixels", "op": "cast", "inputs": ["image"], "attrs": {"dtype": "float32"}},
  {"name": "fc1", "op": "fully_connected", "inputs": ["pixels"], "attrs": {"num_hidden": 64}},
  {"name": "act", "op": "relu", "inputs": ["fc1"]},
  {"name": "drop", "op": "dropout", "inputs": ["act"], "attrs": {"p": 0.2}},
  {"name": "scores", "op": "fully_connected", "inputs": ["drop"], "attrs": {"num_hidden": 10}},
  {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"loss": "loss"}}
JSON
train=("$build/tenon" --plugins "$build/plugins" --trust-writable train net.json --data "image=$digits/digits_images.npy" --data
  "label=$digits/digits_labels.npy" --batch 16 --lanes 8 --learning-rate 0.0001 --epochs 60 -o net.tenon --checkpoint c.tenon --checkpoint-every 7)
ranks() { mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n "$@"; }
"${train[@]}" >log 2>&1 && mv net.tenon undisturbed.tenon || { cat log; exit 1; }
worst=0 failed=0
for ((i = 1; i <= times; ++i)); do
  rm -f net.tenon c.tenon
  ranks $((2 + RANDOM % 3)) "${train[@]}" >log 2>&1 &
  job=$!
  sleep "$(awk -v random=$RANDOM 'BEGIN { print 0.3 + 2.5 * random / 32768 }')"
  mapfile -t pids < <(pgrep -f "^$build/tenon .*train net.json")
  ((${#pids[@]} == 0)) || kill -9 "${pids[RANDOM % ${#pids[@]}]}"
  begin=$(date +%s%N)
  wait $job
  code=$? taken=$((($(date +%s%N) - begin) / 1000000))
  ((taken <= worst)) || worst=$taken
  left=$(pgrep -fc "^$build/tenon .*train net.json")
  ranks $((2 + RANDOM % 3)) "${train[@]}" --resume >resumed.log 2>&1
  if ((code == 0 && ${#pids[@]} > 0)) && ! cmp -s net.tenon undisturbed.tenon || ((taken > 5000 || left > 0)) || ! cmp -s net.tenon undisturbed.tenon; then
    echo "FAILED: time $i: code $code after $taken ms, $left left; resumed: $(tail -n 1 resumed.log)"
    failed=1
  fi
done
echo "$times killed; the last process was gone after at most $worst ms"
exit $failed

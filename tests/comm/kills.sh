#!/usr/bin/env bash
# kills.sh BUILD TIMES: trainings on 2 to 4 processes of Open MPI, one of which is killed at a
# random moment: all processes end soon with a nonzero exit code, and resumed on another number of
# processes, the training gives the file of an undisturbed run.
set -uo pipefail
build=$(realpath "$1") times=$2
here=$(cd "$(dirname "$0")" && pwd)
digits=$here/../data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && cp "$here/perceptron.json" net.json || exit 1
export TENON_CACHE=$work/cache OMP_NUM_THREADS=1
train=("$build/tenon" --plugins "$build/plugins" --trust-writable train net.json
  --data "image=$digits/digits_images.npy" --data "label=$digits/digits_labels.npy" --batch 16
  --micro-batches 8 --learning-rate 0.0001 --epochs 150 -o net.tenon --checkpoint c.tenon
  --checkpoint-every 7)
ranks() { mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n "$@"; }
"${train[@]}" >log 2>&1 && mv net.tenon undisturbed.tenon || { cat log; exit 1; }
begin=$(date +%s%N)
ranks 3 "${train[@]}" >log 2>&1 || { cat log; exit 1; }
takes=$((($(date +%s%N) - begin) / 1000000))  # ms
worst=0 failed=0 killed=0
# the training may have ended before the kill
for ((i = 1; killed < times && i <= 2 * times; ++i)); do
  rm -f net.tenon c.tenon
  ranks $((2 + RANDOM % 3)) "${train[@]}" >log 2>&1 &
  job=$!
  sleep "$(awk -v random=$RANDOM -v takes=$takes \
    'BEGIN { print takes / 1000 * (0.15 + 0.8 * random / 32768) }')"
  mapfile -t pids < <(pgrep -f "^$build/tenon .*train net.json")
  ((${#pids[@]} == 0)) || kill -9 "${pids[RANDOM % ${#pids[@]}]}"
  begin=$(date +%s%N)
  wait $job
  code=$? taken=$((($(date +%s%N) - begin) / 1000000))
  ((taken <= worst)) || worst=$taken
  left=$(pgrep -fc "^$build/tenon .*train net.json")
  ranks $((2 + RANDOM % 3)) "${train[@]}" --resume >resumed.log 2>&1
  ((code == 0)) || ((++killed))
  if ((code != 0 && (${#pids[@]} == 0 || taken > 5000) || left > 0)) ||
    ! cmp -s net.tenon undisturbed.tenon; then
    echo "FAILED: run $i: code $code after $taken ms, $left left; resumed: $(tail -n 1 resumed.log)"
    failed=1
  fi
done
((killed == times)) ||
  { echo "FAILED: only $killed of $((i - 1)) trainings were killed"; failed=1; }
echo "$killed of $((i - 1)) killed; all processes ended within $worst ms"
exit $failed

#!/usr/bin/env bash
# link.sh BUILD: a training on two processes, each in its own network namespace, joined by one link
# that goes down during the training: each process names the step and the other process within its
# timeout plus 10 seconds, and ends. Needs root for the namespaces. Exits 77 (skipped) without.
set -uo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
digits=$here/../data
command -v mpirun.openmpi >/dev/null || { echo "skipped: mpirun.openmpi is missing"; exit 77; }
space=tenon-$$
work=$(mktemp -d)
trap 'pkill -KILL -f "^$build/tenon .*train link.json"
  for i in 1 2; do ip netns del $space-$i 2>/dev/null; done
  rm -rf "$work"' EXIT
ip netns add $space-1 2>/dev/null && ip netns add $space-2 ||
  { echo "skipped: network namespaces need root and iproute2"; exit 77; }
ip link add near netns $space-1 type veth peer name far netns $space-2
for side in "1 near" "2 far"; do
  read -r i name <<<"$side"
  ip -n $space-$i address add 10.213.0.$i/24 dev "$name" && ip -n $space-$i link set "$name" up &&
    ip -n $space-$i link set lo up || exit 1
done
cd "$work" && cp "$here/perceptron.json" link.json || exit 1
export TENON_CACHE=$work/cache OMP_NUM_THREADS=1
# Processes that mpirun starts "on another machine" start in the other namespace. Their output goes
# to a file, because the link is down.
cat >elsewhere.sh <<SH
#!/usr/bin/env bash
shift
exec ip netns exec $space-2 bash -c "\$*"
SH
cat >one.sh <<SH
#!/usr/bin/env bash
exec "$build/tenon" --plugins "$build/plugins" --trust-writable train link.json --data "image=$digits/digits_images.npy" --data \
  "label=$digits/digits_labels.npy" --batch 16 --micro-batches 4 --learning-rate 0.0001 --epochs 100000 -o net.tenon --checkpoint c.tenon \
  --checkpoint-every 50 --comm-timeout 5 2>said.\$OMPI_COMM_WORLD_RANK
SH
chmod +x elsewhere.sh one.sh
ip netns exec $space-1 mpirun.openmpi --allow-run-as-root --bind-to none -n 2 \
  --host 10.213.0.1,10.213.0.2 --map-by node \
  --mca plm_rsh_agent "$work/elsewhere.sh" --mca oob_tcp_if_include 10.213.0.0/24 \
  --mca btl tcp,self --mca btl_tcp_if_include 10.213.0.0/24 \
  "$work/one.sh" >log 2>&1 &
for ((i = 0; i < 300; ++i)); do [[ ! -e c.tenon ]] || break; sleep 0.1; done
[[ -e c.tenon && -e said.1 ]] ||
  { cat log said.*; echo "FAILED: the training does not start"; exit 1; }
alive() { pgrep -fc "^$build/tenon .*train link.json"; }
ip -n $space-1 link set near down
begin=$SECONDS
while (($(alive) > 0 && SECONDS - begin <= 20)); do sleep 0.1; done
taken=$((SECONDS - begin)) failed=0
((taken <= 15)) || { echo "FAILED: $(alive) processes are left after $taken s"; failed=1; }
for rank in 0 1; do
  grep -qE "step [0-9]+.* rank $((1 - rank))" said.$rank ||
    { echo "FAILED: rank $rank does not report step and peer: $(tail -n 3 said.$rank)"; failed=1; }
done
"$build/tenon" --plugins "$build/plugins" --trust-writable validate c.tenon >/dev/null ||
  { echo "FAILED: the checkpoint is invalid"; failed=1; }
((failed)) ||
  { echo "both processes ended after $taken s; their last messages:"; tail -qn 1 said.*; }
exit $failed

#!/usr/bin/env bash
# Simulates the time of a training step on many machines: training.cpp under SimGrid, with networks
# of 100 and of 10 Gbit/s. training.sh NODES [MEGABYTES BUCKETS SECONDS]: size of the gradients in
# MB (100), number of buckets (24, of 4 MiB), and the time of a step on one node (0.3), as measured
# by tenon bench.
set -euo pipefail
cd "$(dirname "$0")/../../.."
nodes=$1 megabytes=${2:-100} buckets=${3:-24} seconds=${4:-0.3}
command -v smpicxx >/dev/null ||
  { echo "smpicxx is missing (apt install libsimgrid-dev)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
smpicxx -std=c++20 -O1 -Isdk/include -Iplugins/comm tests/comm/simulated/training.cpp \
  -o "$work/training"
ulimit -d 8000000  # a faulty simulation takes all memory
for network in "100 12.5GBps 3us" "10 1.25GBps 40us"; do
  read -r gigabits bandwidth latency <<<"$network"
  speeds="speed=\"1Gf\" bw=\"$bandwidth\" lat=\"$latency\""
  cat >"$work/platform.xml" <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-$((nodes - 1))" $speeds/>
</platform>
XML
  for overlaps in 0 1; do
    echo -n "$gigabits Gbit/s, $latency: "
    smpirun --cfg=smpi/privatization:no --cfg=contexts/stack-size:256 --cfg=contexts/guard-size:0 \
      --cfg=smpi/simulate-computation:no \
      --cfg=smpi/bw-factor:1 --cfg=smpi/lat-factor:1 --cfg=network/model:CM02 \
      --cfg=network/crosstraffic:0 --log=root.thres:error \
      -np "$nodes" -platform "$work/platform.xml" "$work/training" "$megabytes" "$buckets" \
      "$seconds" "$overlaps"
  done
done

#!/usr/bin/env bash
# ranks.sh PROGRAM RANKS...: runs the program on each number of simulated ranks, with four
# micro-batches per rank.
set -euo pipefail
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
most=1
for ranks; do ((ranks <= most)) || most=$ranks; done
speeds='speed="1Gf" bw="12.5GBps" lat="3us"'
cat >"$work/platform.xml" <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-$((most - 1))" $speeds/>
</platform>
XML
for ranks; do
  smpirun --cfg=smpi/privatization:no --cfg=contexts/stack-size:256 --cfg=contexts/guard-size:0 \
    --log=root.thres:error \
    -np "$ranks" -platform "$work/platform.xml" "$program" $((4 * ranks)) 2000
done

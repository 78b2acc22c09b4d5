#!/usr/bin/env bash
# gpu_script.sh: gpu.sh with programs that pass, fail, miss a goal, find no GPU or take too long.
# The programs are shell scripts.
set -euo pipefail
script=$(realpath "$(dirname "$0")/../gpu.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{tests,plugins,bin,out}
cd "$work"

fail() { cat said; echo "$*"; exit 1; }
has() { grep -qE "$1" out/summary.txt || fail "there is no line '$1'"; }
program() { # NAME: a script with this text from stdin
  { echo '#!/usr/bin/env bash'; cat; } >"$1"
  chmod +x "$1"
}
# after CODE ARGUMENT...: expects this exit code of gpu.sh.
after() {
  local expected=$1 code=0
  shift
  PATH=$work/bin:$PATH bash "$script" "$@" --out out . >said 2>&1 || code=$?
  ((code == expected)) || fail "gpu.sh $*: exit code $code instead of $expected"
}

# All steps pass.
for each in tenon tenon-probe tenon-worker tests/test_cuda tests/test_plugins; do
  echo 'echo "PASSED $*"' | program $each
done
echo tenon_kernel_v1__cuda__add >plugins/tenon_sums.so
# One of the benchmarks writes all figures.
cp tests/test_cuda tests/bench_cuda_elementwise
cp tests/test_cuda tests/bench_cuda_chain
program tests/bench_cuda_training <<'END'
for word; do [[ $word != --benchmark_out=* ]] || out=${word#*=}; done
tell() { printf '{"name": "%s/real_time_median",\n"real_time": %s,\n"bytes_per_second": %s,\n"kernels": 7}\n' "$@"; }
{ tell device_copy 9 100; tell one_input/quadratic 9 95; tell one_input/gelu 9 "$GELU"; tell two_inputs/add 9 92; tell with_row/add 9 30; } >"${out/training/elementwise}"
{ tell session 10.5 1; tell captured_by_hand 10 1; } >"${out/training/chain}"
{ tell train_step/mlp_cuda 150 1; tell train_step/convnet_cuda 300 1; } >"$out"
END
program bin/compute-sanitizer <<'END'
while [[ $1 != tests/* ]]; do shift; done
exec "$@"
END
cp bin/compute-sanitizer bin/ncu
program bin/nvidia-smi <<'END'
[[ $1 != -lms ]] || exec sleep 600
echo "a GPU"
END
GELU=91 after 0
for each in device_layer plugins memcheck_nn check_tenon_sums lost_session; do
  has "^passed   $each "
done
has '^reached    one_input/gelu, .*: 0.910 '
has '^reached    chain of 1,000, .*: 1.050 '
has '^mlp: a training step takes 150 us, .* in 7 kernels'
has '^gpu.sh: all passed in '
for call in second third; do after 0 --call $call; done

# After a missed goal or a failed step, the others still run. The failed case runs again, by its
# name.
GELU=89 after 1
has '^MISSED     one_input/gelu, .*: 0.890 '
program tests/test_plugins <<'END'
printf 'TEST CASE:  sound\nx.cpp:3: MESSAGE: heard\nTEST CASE:  bad, really\nx.cpp:5: ERROR: CHECK( a ) is NOT correct!\n%s\n' "$*"
exit 1
END
GELU=91 after 1
has '^FAILED   plugins \(exit code 1\): x.cpp:5: ERROR: CHECK'
has '^         bad, really$'
has '^FAILED   plugins_again '
grep -q -- '-tc=bad? really$' said || fail "the case that failed does not run again"
has '^passed   lost_session '

# A step that times out reports its progress.
program tests/test_plugins <<<'exec true'
program tenon <<'END'
[[ $* == *check* ]] || exit 0
printf 'add\n  PASSED   forward\nleaky_relu\n'
exec sleep 600
END
# seconds, 50 of them for the steps after the checks
sed 's/^most=.*/most=60/' "$script" >in_a_hurry.sh
script=$work/in_a_hurry.sh
GELU=91 after 1
has '^FAILED   check_tenon_sums: timed out after [0-9]+ s at: add leaky_relu$'
has '^passed   lost_session '

# Without a GPU.
for each in tenon tests/test_cuda tests/test_plugins tests/bench_cuda_training; do
  echo 'echo "skipped: there is no GPU"; exit 77' | program $each
done
program tenon \
  <<<"[[ \$* != *check* ]] || echo \"SKIPPED  forward          there is no device 'cuda'\""
after 77
has '^skipped  check_tenon_sums: there is no GPU$'
rm bin/*
after 77 --call third

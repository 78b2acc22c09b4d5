#!/usr/bin/env bash
# qemu.sh BUILD: every bundled plugin computes on emulated processors without AVX (Nehalem) and
# without AVX-512 (Haswell), where a wider instruction ends the program. Multi-versioned loops
# (tenon/wide.hpp) give the same bits as on this machine. Needs qemu-user, and a compiler to verify
# that the emulator traps on unsupported instructions.
set -euo pipefail
build=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
emulated() { qemu-x86_64 -cpu "$@" 2> >(grep -v 'TCG doesn.t support requested feature' >&2); }

# A learning rate of 0.5, of rank 0.
{ printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' \
  "{'descr': '<f4', 'fortran_order': False, 'shape': (), }" && printf '\x00\x00\x00\x3f'
} >"$folder/rate.npy"

# One call per line: arguments of `tenon call`, after "same" if the bits must equal those of this
# machine, that is, if neither a library nor a product with fused multiply-add is involved.
calls=$(for dtype in float32 float16 bfloat16 float64; do
  for name in exp log tanh sigmoid gelu erf sqrt rsqrt sin cos softplus relu abs square; do
    # chosen by the C library
    [[ $dtype == float64 ]] && [[ $name != relu && $name != abs && $name != square ]] && continue
    echo "same $name --input x=random:3x133:$dtype --gradient"
  done
  for name in add mul div maximum less; do
    echo "same $name --input left=random:5x67:$dtype --input right=random:67:$dtype"
  done
  echo "same sum --input x=random:70x133:$dtype --set axis=1"
  echo "same max --input x=random:70x133:$dtype --set axis=0"
  echo "same layer_norm --input data=random:9x133:$dtype --input gamma=random:133:$dtype" \
    "--input beta=random:133:$dtype --gradient"
  echo "same batch_norm --input data=random:3x5x7x9:$dtype --input gamma=random:5:$dtype" \
    "--input beta=random:5:$dtype --gradient --training"
  echo "same batch_norm --input data=random:33x70:$dtype --input gamma=random:70:$dtype" \
    "--input beta=random:70:$dtype --gradient --training"
  echo "same mean_squared_error --input prediction=random:133:$dtype" \
    "--input target=random:133:$dtype --gradient"
done
cat <<END
same softmax --input data=random:9x133 --gradient
same softmax --input data=random:9x133 --set axis=0 --gradient
same softmax --input data=random:9x133:float16
same pow --input base=random:133 --input exponent=random:133
same cast --input x=random:133 --set dtype=float16
same uniform --set shape=133
same normal --set shape=133
same dropout --input data=random:133 --training
same transpose --input x=random:33x70
same adam --input weight=random:133 --input grad=random:133 --input learning_rate=$folder/rate.npy
same sgd --input weight=random:133 --input grad=random:133 --input learning_rate=$folder/rate.npy
log_softmax --input data=random:9x133 --gradient
softmax_cross_entropy --input logits=random:9x33 --input labels=random:9:int64 --gradient
matmul --input a=random:33x70 --input b=random:70x65 --gradient
csr_times_dense --input left=random:33x70:float32:csr --input right=random:70x65
fully_connected --input data=random:9x70 --input weight=random:33x70 --input bias=random:33 --set num_hidden=33 --gradient
fused_fully_connected --input data=random:9x70 --input weight=random:33x70 --input bias=random:33 --set num_hidden=33 --set activation=gelu
convolution --input data=random:2x3x9x9 --input weight=random:4x3x3x3 --input bias=random:4 --set kernel=3,3 --set num_filter=4 --gradient
max_pool --input data=random:2x3x9x9 --set kernel=3,3 --gradient
embedding --input indices=random:9:int64 --input weight=random:10x33 --set input_dim=10 --set output_dim=33 --gradient
END
)

echo 'int main(int count, char** words) { float x[64];
for (int i = 0; i < 64; ++i) x[i] = count;
for (int i = 0; i < 64; ++i) x[i] *= x[i];
return x[count] != 1; }' >"$folder/wide.cpp"
for pair in Nehalem:-mavx2 Haswell:-mavx512f; do
  ${CXX:-c++} -O3 "${pair#*:}" -mprefer-vector-width=512 -o "$folder/wide" "$folder/wide.cpp"
  ! emulated "${pair%:*}" "$folder/wide" &>/dev/null ||
    { echo "qemu.sh: the emulated ${pair%:*} executes ${pair#*:} instructions" >&2; exit 1; }
done

number=0
while read -r words; do
  read -ra arguments <<<"${words#same }"
  if ! "$build/tenon" --json --threads 1 call "${arguments[@]}" >"$folder/here" \
    2>"$folder/said"; then
    cat "$folder/here" "$folder/said" >&2
    echo "qemu.sh: this machine fails: ${arguments[*]}" >&2
    exit 1
  fi
  for cpu in Nehalem Haswell; do
    if ! emulated $cpu "$build/tenon" --json --threads 1 call "${arguments[@]}" >"$folder/there" \
      2>"$folder/said"; then
      echo "qemu.sh: $cpu fails: ${arguments[*]}" >&2
      cat "$folder/said" >&2
      failed=1
    elif [[ $words == same* ]] && ! cmp -s "$folder/here" "$folder/there"; then
      echo "qemu.sh: $cpu and this machine give different results: ${arguments[*]}" >&2
      failed=1
    fi
  done
  number=$((number + 1))
done <<<"$calls"
echo "$number calls on each processor"
exit $failed

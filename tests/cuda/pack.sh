#!/usr/bin/env bash
# pack.sh BUILD: gpu.sh packs everything that a machine with a GPU needs. In a chroot with little
# more than a shell and without CUDA's libraries, each step of the archive runs until it finds no
# GPU. However gpu.sh ends, it leaves no processes behind. Exits 77 if the build is incomplete, if
# kernels of several architectures make the archive too large, or if no chroot can be made.
set -euo pipefail
shopt -s nullglob
build=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "$*"; exit 1; }
has() { grep -qE "$1" "$2" || { cat "$2"; fail "there is no line '$1'"; }; }
refuses() { # WORDS ARGUMENT...: expects exit code 2 and a message with WORDS
  local words=$1 code=0
  shift
  bash gpu.sh "$@" >"$work/refused" 2>&1 || code=$?
  ((code == 2)) && grep -q "^gpu.sh: .*$words" "$work/refused" ||
    { cat "$work/refused"; fail "gpu.sh $*: exit code $code"; }
}

for program in test_plugins bench_cuda_{elementwise,chain,training}; do
  [[ -x $build/tests/$program ]] || skip "$build has no $program"
done

refuses "unknown option --fast" --fast
refuses "unknown call 'fourth'" --call fourth "$build"
refuses "there is no /nowhere" /nowhere
refuses "there is no .*/tenon; build" /
refuses "/nowhere/gpu.tar.xz is not writable" --pack /nowhere/gpu.tar.xz "$build"
head -c 1000 "$build/tenon" >"$work/cut.tar.xz"
refuses "cut.tar.xz cannot be unpacked" "$work/cut.tar.xz"

export XZ_OPT=-1 # fast, with less compression
bash gpu.sh --pack "$work/gpu.tar.xz" --limit 100 "$build" >"$work/packed" 2>&1 || {
  grep -q 'the limit set by --limit' "$work/packed" && skip "$(tail -1 "$work/packed")"
  cat "$work/packed"
  fail "packing failed"
}
cat "$work/packed"
refuses "would exceed 1 MiB, the limit set by --limit;" --pack "$work/small.tar.xz" --limit 1 \
  "$build"
files=("$work"/small*)
((${#files[@]} == 0)) || fail "a rejected archive leaves ${files[*]}"
! grep -E ' libraries/lib((c|m|stdc\+\+|gcc_s)\.|cu|nv)' "$work/packed" ||
  fail "these files do not belong into the archive"

# The chroot contains these programs with their libraries, and the runtime libraries of the C++
# compiler, which every machine has.
root=$work/root
mkdir -p "$root"/{dev,proc,tmp,out}
files=(/lib64/ld-linux-x86-64.so.2)
for program in bash env basename cat cp cut dirname head ln mkdir mktemp printf realpath rm sed \
  sleep sort stat tail timeout tr uname \
  awk find grep ldd sh tar xz; do
  files+=("$(type -P "$program")")
done
mapfile -t libraries < <({ ldd "${files[@]}" || true; ldd "$build/tenon" |
  grep -E 'lib(stdc\+\+|gcc_s|m)\.so'; } 2>/dev/null |
  awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u)
for file in "${files[@]}" "${libraries[@]}"; do
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
done
[[ -e $root/bin/bash ]] || ln -s usr/bin "$root/bin"
cp "$work/gpu.tar.xz" gpu.sh "$root"

# inside SCRIPT: runs SCRIPT by bash as the first process of a PID namespace, where it sees every
# process that survives gpu.sh.
inside() {
  unshare --map-root-user --mount --pid --fork --kill-child bash -c '
    mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" &&
      exec chroot "$0" /usr/bin/env -i PATH=/usr/bin:/bin bash -c "$1"' "$root" "$1"
}
inside true 2>"$work/why" || skip "cannot create a chroot: $(head -1 "$work/why")"
others='for each in /proc/[0-9]*; do
  [[ $each == /proc/$$ || ! -e $each/exe ]] ||
    { echo "still running: $(tr "\0" " " <$each/cmdline)"; exit 1; }
done'

echo
code=0
inside "bash gpu.sh --out /out /gpu.tar.xz; code=\$?; $others; exit \$code" >"$work/said" 2>&1 ||
  code=$?
((code == 77)) || { cat "$work/said"; fail "exit code $code instead of 77"; }
cat "$root/out/summary.txt"
for step in host doctor; do has "^passed   $step " "$root/out/summary.txt"; done
for step in device_layer plugins bench_elementwise bench_chain bench_training lost_device \
  lost_session check_tenon_core_cuda; do
  has "^skipped  $step: there is no GPU$" "$root/out/summary.txt"
done
has '^skipped  memcheck_nn: compute-sanitizer is missing' "$root/out/summary.txt"
nvidia='lib(cublas|cublasLt|cudnn|cudnn_[a-z_]*|cusparse)\.so\.[0-9]+'
! grep '^missing' "$root/out/summary.txt" |
  grep -vE "^missing  $nvidia, for( tenon_[a-z_]+\.so)+\$" ||
  fail "the archive lacks these"
tar tf "$root/out/logs.tar.xz" | grep -q plugins.log || fail "there is no log of test_plugins"
for call in second third; do
  code=0
  inside "bash gpu.sh --call $call --out /out /gpu.tar.xz" >"$work/said" 2>&1 || code=$?
  ((code == 77)) && grep -q 'is missing; it comes with the CUDA toolkit' "$work/said" ||
    { cat "$work/said"; fail "--call $call: exit code $code"; }
done

# A build whose programs all wait: gpu.sh ends on a signal and reports that.
mkdir -p "$root"/waits/{tests,plugins}
for program in tenon tenon-{probe,worker} tests/test_{cuda,plugins}; do
  printf '#!/usr/bin/bash\nsleep 100 &\nwait\n' >"$root/waits/$program"
  chmod +x "$root/waits/$program"
done
for signal in INT TERM; do
  code=0
  inside "timeout --preserve-status -s $signal 2 bash gpu.sh --out /out /waits; code=\$?; $others
    exit \$code" >"$work/said" 2>&1 || code=$?
  ((code == 128 + $(kill -l $signal))) ||
    { cat "$work/said"; fail "after SIG$signal the exit code is $code"; }
  has '^gpu.sh: interrupted after [0-9]+ s' "$root/out/summary.txt"
  tar tf "$root/out/logs.tar.xz" | grep -q doctor.log || fail "after SIG$signal there is no log"
done

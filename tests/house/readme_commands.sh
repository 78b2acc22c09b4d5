#!/usr/bin/env bash
# readme_commands.sh BUILD: the README's plugin, and its commands as they stand there, one after another. What they take for granted is
# made here: net.json is the demo's perceptron, x.npy and y.npy are the digits, words.json and train.svm the demo's classifier of words.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache PATH="$build:$PATH"

awk '/^```cpp$/ {inside = 1; next} /^```$/ {if (inside) exit} inside' README.md >"$work/half_square.cpp"
cp host/demo/mlp.json "$work/net.json"
cp tests/data/digits_images.npy "$work/x.npy"
cp tests/data/digits_labels.npy "$work/y.npy"
ln -s "$PWD/sdk" "$work/sdk"
cp host/demo/kinds.json "$work/words.json"
words=("$PWD"/{README.md,sdk/README.md,CMakeLists.txt,host/CMakeLists.txt} "$PWD"/host/device/*.cpp)
(cd "$work" && LC_ALL=C awk -f "$OLDPWD/host/demo/words.awk" "${words[@]}")
sed -n -e ':join' -e '/\\$/ {N; s/\\\n//; b join}' -e 's/^    \(g++ \|tenon \)/\1/p' README.md >"$work/commands"
[[ $(grep -c '^tenon ' "$work/commands") -ge 5 ]] || { echo "README.md: fewer commands than there were"; exit 1; }

cd "$work"
gpu=none
tenon doctor --json | grep -q '"cuda:0"' && gpu=here
while read -r command; do
  echo "$command"
  [[ $command == 'tenon train '* ]] && export TENON_PLUGIN_PATH=$work  # where the demo has it, too
  eval "$command" >output 2>&1 </dev/null && continue
  # Where there is no GPU, what asks for one is told so.
  [[ $command == *'--device cuda'* && $gpu == none ]] && grep -q "^error: there is no device 'cuda'" output && continue
  cat output
  exit 1
done <commands
for made in my_operator net.tenon net.svg memory.svg; do
  [[ -e $made ]] || { echo "README.md: its commands make no $made"; exit 1; }
done

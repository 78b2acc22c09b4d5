#!/usr/bin/env bash
# readme_commands.sh BUILD: builds the plugins of the README and of the pages about operators, and
# runs the commands of these pages and of the guides as printed. Their input files are created here:
# net.json is the demo's perceptron, x.npy and y.npy are the digits.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache PATH="$build:$PATH"

program() { awk '/^```cpp$/ {inside = 1; next} /^```$/ {if (inside) exit} inside' "$1"; }
program README.md >"$work/half_square.cpp"
program sdk/docs/first_operator.md >"$work/scaled_cos.cpp"
program sdk/docs/kernels.md >"$work/row_norm.cpp"
program sdk/docs/gradients.md >"$work/log_cosh.cpp"
mkdir "$work/my_plugins"
cp host/demo/mlp.json "$work/net.json"
cp tests/data/digits_images.npy "$work/x.npy"
cp tests/data/digits_labels.npy "$work/y.npy"
ln -s "$PWD"/{host,sdk} "$work"
commands() { sed -n -e ':join' -e '/\\$/ {N; s/\\\n//; b join}' \
  -e 's/^    \(g++ \|tenon \|LC_ALL=C awk \)/\1/p' "$1"; }
for page in README.md sdk/docs/{first_operator,kernels,gradients}.md \
  host/docs/{training,memory,gpu,sparse,onnx,serving}.md; do
  [[ $page != */onnx.md ]] || echo 'tenon export net.tenon -o model.onnx'
  [[ $page != */serving.md ]] || echo 'rm -r repository'  # the README's commands have created it
  commands "$page"
done >"$work/commands"
[[ $(grep -c '^tenon ' "$work/commands") -ge 25 ]] ||
  { echo "the README and the guides have fewer than 25 commands"; exit 1; }

cd "$work"
gpu=none
tenon doctor --json | grep -q '"cuda:0"' && gpu=here
while read -r command; do
  echo "$command"
  [[ $command == 'tenon train '* ]] && export TENON_PLUGIN_PATH=$work  # as in the demo
  eval "$command" >output 2>&1 </dev/null && continue
  # Without a GPU, commands that need one fail with this error.
  [[ $command == *'--device cuda'* && $gpu == none ]] &&
    grep -q "^error: there is no device 'cuda'" output && continue
  cat output
  exit 1
done <commands
for made in my_operator net.tenon net.svg memory.svg imported.tenon kinds.tenon; do
  [[ -e $made ]] || { echo "the commands do not create $made"; exit 1; }
done

#!/usr/bin/env bash
# peers.sh [--venv FOLDER] [--package FOLDER] [OPTIONS of peers/compare.py]: compares whole networks
# in Tenon with ONNX Runtime, OpenVINO and PyTorch. --venv: a virtual environment, created if it is
# missing (default: build-peers/venv; downloads gigabytes). --package: a folder with the built
# package tenon, such as build-ci/python; by default it is built and installed into the environment.
# Not part of CI.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/build-peers/venv package=
while (($# > 1)); do
  case $1 in
    --venv) venv=$2 ;;
    --package) package=$(cd "$2" && pwd) ;;
    *) break ;;
  esac
  shift 2
done
[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
needed=(numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1 torch==2.15.0)
"$venv/bin/python" - "${needed[@]}" <<'PYTHON' || "$venv/bin/pip" install --quiet "${needed[@]}"
import sys
from importlib.metadata import PackageNotFoundError, version
try:
    sys.exit(any(version(each.split("==")[0]).split("+")[0] != each.split("==")[1] for each in sys.argv[1:]))
except PackageNotFoundError:
    sys.exit(1)
PYTHON
if [[ -n $package ]]; then
  "$venv/bin/pip" install --quiet "nanobind-backend>=1.0"
  export PYTHONPATH=$package
else
  "$venv/bin/pip" install --quiet "$root/host/python"
fi
exec "$venv/bin/python" "$here/peers/compare.py" "$@"

#!/usr/bin/env bash
# peers.sh [--venv FOLDER] [--package FOLDER] [OPTIONS of peers/compare.py]: compares whole networks
# in Tenon with ONNX Runtime, OpenVINO and PyTorch. --venv: a virtual environment, created if it is
# missing (default: build-peers/venv; downloads gigabytes). --package: a folder with the built
# package tenon, such as build-ci/python; by default it is built and installed into the environment.
# Not part of CI.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
needed=(numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1 torch==2.15.0)
# shellcheck source=tests/bench/environment.sh
source "$here/environment.sh"
exec "$venv/bin/python" "$here/peers/compare.py" "$@"

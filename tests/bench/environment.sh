# Sourced by peers.sh and models.sh, which set `here` and `needed`: reads the options --venv and
# --package, and makes a virtual environment, `venv`, with the packages `needed` and Tenon.
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

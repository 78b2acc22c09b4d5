#!/usr/bin/env bash
# wheel.sh FOLDER TOOLS: builds sdist and wheel in FOLDER as for an upload, with the tools of that
# virtual environment, and tests the wheel in clean environments: with the oldest and the newest
# installed Python besides that of the tools, and with the oldest numpy. TENON_PYTHONS names Pythons
# that are neither on the PATH nor in pyenv.
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1") tools=$(realpath "$2")
cd "$(dirname "$0")/../.."
source=$PWD
export PATH=$tools/bin:$PATH PYTHONDONTWRITEBYTECODE=1
say() { printf '\n== %s\n' "$*"; }
fail() { echo "wheel.sh: $*" >&2; exit 1; }

say "sdist"
rm -rf "$folder"/{sdist,source,plain,wheel}
python -m build --no-isolation --sdist --outdir "$folder/sdist" host/python
mkdir "$folder/source"
tar -x -f "$folder"/sdist/tenon-*.tar.gz -C "$folder/source"

say "wheel of the sdist"
# Always unpacked to the same folder, so that a compiler cache recognizes the sources.
python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir "$folder/plain" \
  "$folder"/source/tenon-*

say "bundling the libraries that a machine may lack"
auditwheel repair --wheel-dir "$folder/wheel" "$folder"/plain/*.whl
wheel=$(echo "$folder"/wheel/*.whl)
abi3audit --strict "$wheel"
twine check --strict "$wheel" "$folder"/sdist/*
bytes=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $bytes bytes"
((bytes <= 32000000)) || fail "the wheel has $bytes bytes; at most 32 MB are allowed"
contents=$(python -m zipfile --list "$wheel")
! grep -i 'libcrypto\|libssl' <<<"$contents" ||
  fail "above: OpenSSL is in the wheel, which would then need each of its security updates"

# pythons: prints MINOR PATH for every Python from 3.10 on, each version once.
pythons() {
  local python
  {
    printf '%s\n' ${TENON_PYTHONS:-}
    for minor in {10..19}; do type -ap "python3.$minor" || true; done
    ! command -v pyenv >/dev/null || compgen -G "$(pyenv root)/versions/*/bin/python" || true
  } | while read -r python; do
    "$python" -c \
      'import sys; sys.version_info >= (3, 10) and print(sys.version_info[1], sys.executable)' \
      2>/dev/null || true
  done | sort -n -u -k 1,1
}

# test_in NAME FILE...: runs the Python tests, or some of them, in that environment, without the
# repository on the path.
test_in() {
  local python=$folder/$1/bin/python
  shift
  rm -rf "$folder/empty"
  mkdir "$folder/empty"
  (cd "$folder/empty" && "$python" -m pytest -q -p no:cacheprovider "${@/#/$source/tests/python/}")
}

# try_in NAME PYTHON: installs the wheel in a separate environment and runs the Python tests there.
try_in() {
  local name=$1 python=$2
  local env=$folder/$name
  say "$("$python" --version)"
  rm -rf "$env"
  "$python" -m venv "$env"
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" pytest scipy
  "$env/bin/tenon" list >/dev/null
  test_in "$name" ""
  "$env/bin/python" tests/house/installed_wheel.py
}

own=$(python -c 'import sys; print(sys.version_info[1])')
mapfile -t others < <(pythons | grep -v "^$own " || true)
if ((!${#others[@]})); then
  echo "no Python besides 3.$own is installed; testing the wheel with it"
  others=("$own $(command -v python)")
fi
try_in oldest "${others[0]#* }"
((${#others[@]} == 1)) || try_in newest "${others[-1]#* }"
if [[ ${others[0]%% *} == 10 ]]; then  # numpy 1.22 does not support newer Pythons
  say "the oldest numpy"
  "$folder/oldest/bin/python" -m pip install --quiet --disable-pip-version-check 'numpy==1.22.*' \
    scipy
  test_in oldest define/test_define.py graphs/test_{graph,session}.py test_{install,ops}.py
fi

# An environment created by an administrator or shared by a group: whoever can replace the library
# may also provide plugins.
if ((EUID == 0)); then
  say "in another user's environment"
  chown -R daemon "$folder/oldest"
  test_in oldest test_install.py
  chown -R root:daemon "$folder/oldest"
  chmod -R g+w "$folder/oldest"
  test_in oldest test_install.py
else
  echo "skipped, needs root: plugins in another user's environment"
fi

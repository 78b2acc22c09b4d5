#!/usr/bin/env bash
# strangers.sh COMPILER PLUGIN...: plugins that were built without -fvisibility=hidden do not bind
# their functions to those of an application that exports everything (-rdynamic) and uses the SDK
# itself: an SDK that hides nothing, as before 0.2, of the plugins' version or of another one. Even
# if the plugins hide nothing, two versions share no function of the SDK's own namespace.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
compiler=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sdk() {  # NAME MINOR: a copy that hides nothing, with a different version
  cp -r "$here/../../sdk/include" "$work/$1"
  find "$work/$1" -name '*.hpp' -exec sed -i "/pragma GCC visibility/d
    s/gnu::visibility(\"hidden\")/gnu::used/
    s/\(TENON_SDK_MINOR\) [0-9]*$/\1 $2/" {} +
  grep -q "TENON_SDK_MINOR $2\$" "$work/$1/tenon/version.hpp" ||
    { echo "version.hpp has no TENON_SDK_MINOR to change"; exit 1; }
}
application() {  # NAME
  "$compiler" -std=c++20 -O0 -rdynamic -I"$work/$1" "$here/strangers/application.cpp" \
    -o "$work/$1_application" -ldl
  # -q would stop reading early and fail nm
  nm -D --defined-only "$work/$1_application" | grep ' _Z[NK]*5tenon' >/dev/null ||
    { echo "the application exports nothing of tenon::"; exit 1; }
}
# APPLICATION PLUGIN...: symbols of the plugins that are bound to the application, except the
# standard library's
bound() {
  LD_BIND_NOW=1 LD_DEBUG=bindings "$@" 2>&1 |
    grep -oP "binding file \S+\.so \[0\] to \S*_application \[0\]: normal symbol \`\K[^']*" |
    grep -v '^_Z[TVISGZNKRO]*S[tabsiod]' || true
}

minor=$(grep -oP 'TENON_SDK_MINOR \K[0-9]+$' "$here/../../sdk/include/tenon/version.hpp")
sdk same "$minor"
sdk other $((minor + 97))
for name in same other; do
  application $name
  found=$(bound "$work/${name}_application" "$@")
  [[ -z $found ]] ||
    {
      c++filt <<<"$found"
      echo "plugins share these with an application of $name version"
      exit 1
    }
done

# The test can fail: plugins that hide nothing share with the same version.
"$compiler" -std=c++20 -O0 -fPIC -shared -I"$work/same" "$here/fully_connected.cpp" \
  -o "$work/open.so"
bound "$work/same_application" "$work/open.so" | grep 7sdk_ >/dev/null ||
  { echo "the loader binds nothing where nothing is hidden"; exit 1; }
if bound "$work/other_application" "$work/open.so" | grep 7sdk_; then
  echo "two versions of the SDK share these"
  exit 1
fi

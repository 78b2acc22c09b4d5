#!/usr/bin/env bash
# private.sh [--hidden] PLUGIN...: a plugin exports no symbol of tenon:: except those that the host
# looks up, even if it was built without -fvisibility=hidden, so that it shares nothing with other
# plugins or with the application. Remaining exports are templates of the standard library and,
# without --hidden, the author's own functions.
set -euo pipefail
own='^tenon_(op_v1__|get_v1__|kernel_v1__|variant_v1__|plugin_v1$)'
standard='^_Z[TVISGZNKRO]*(St|S[absiod]|9__gnu_cxx)|^_Zn[wa]|^_Zd[la]'
if [[ $1 == --hidden ]]; then
  shift
  stranger() { grep -vE "$own|$standard"; }
else
  stranger() { grep -E '^_Z[TVISGZNKRO]*5tenon|^tenon_' | grep -vE "$own"; }
fi
for plugin in "$@"; do
  symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}')
  grep -qE "$own" <<<"$symbols" || { echo "$plugin exports no operator and no kernel"; exit 1; }
  if found=$(stranger <<<"$symbols"); then
    c++filt <<<"$found"
    echo "$plugin exports these besides its operators and kernels"
    exit 1
  fi
done

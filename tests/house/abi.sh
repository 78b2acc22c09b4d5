#!/usr/bin/env bash
# Compares the C ABI with that of version 0.1.0, using libabigail: structs may only have grown at
# their ends, and enumerators may have been added. abi.sh C_COMPILER. Exits with 77 (skipped)
# without abidiff. sdk/abi_layout.cpp checks offsets and sizes without a tool.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
command -v abidiff > /dev/null ||
  { echo "skipped: abidiff is missing (apt install abigail-tools)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

{
  echo '#include "abi.h"'
  echo 'struct boundary {'
  for type in error dense tensor type attribute host fault call infer infer_storage gradient \
    operator plugin get_function; do
    echo "  tenon_$type* of_$type;"
  done
  for type in dtype storage write device dispatch attribute_kind error_kind call_flag fault_kind \
    gradient_source trait; do
    echo "  enum tenon_$type of_enum_$type;"
  done
  echo '};'
  echo 'void tenon_boundary(struct boundary* all) { (void)all; }'
} > "$folder/boundary.c"
for version in tests/data/v0.1.0/sources sdk/include/tenon; do
  "$compiler" -std=c11 -g -shared -fPIC -fno-lto -I"$version" "$folder/boundary.c" \
    -o "$folder/$(basename "$version").so"
done

status=0
abidiff --harmless --leaf-changes-only --no-show-locs "$folder/sources.so" "$folder/tenon.so" > \
  "$folder/report" || status=$?
# 4: something changed. 1 and 2: the comparison failed.
((status == 0 || status == 4)) ||
  { cat "$folder/report"; echo "abidiff failed with $status"; exit 1; }
grep -q '^Leaf changes summary\|^Functions changes summary' "$folder/report" || ((status == 0)) ||
  { echo "abidiff prints no summary"; exit 1; }
allowed="^(Leaf|Changed leaf|Removed/)|^$|type size (changed from|hasn't changed)"
allowed+="|^ +[0-9]+ data member insertions?:$"
allowed+="|^    '.*', at offset [0-9]+ \(in bits\)$|^'struct tenon_[a-z_]+' changed:$"
allowed+="|^'enum tenon_[a-z_]+' changed:$|^  [0-9]+ enumerator insertions?:$"
allowed+="|^    'tenon_[a-z_]+::TENON_[A-Z0-9_]+' value '[0-9]+'$"
allowed+="|^  1 enumerator change:$|^    'tenon_dtype::TENON_DTYPE_COUNT' from value"
# tenon_type::reserved was zero in version 0.1.0; in the layout field, zero means dense.
allowed+="|^  there are data member changes:$"
allowed+="|^    name of 'tenon_type::reserved' changed to 'tenon_type::layout'$"
if grep -vE "$allowed" "$folder/report"; then
  echo "above: changes since version 0.1.0 that would break its plugins"
  exit 1
fi

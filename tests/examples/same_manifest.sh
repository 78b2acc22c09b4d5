#!/usr/bin/env bash
# same_manifest.sh OPERATOR PLUGIN.so...: the operator's manifest is the same bytes in every file.
set -euo pipefail
operator=$1
shift

manifest() {  # the bytes of tenon_op_v1__OPERATOR, read from the file
  local address size section_address section_offset
  read -r address size < <(nm -DS "$1" | awk -v name="tenon_op_v1__$operator" \
    '$4 == name {print $1, $2}')
  [[ -n ${address:-} ]] || return 0
  read -r section_address section_offset < <(readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' |
    awk '$1 == ".tenon_ops" {print $3, $4}')
  dd if="$1" iflag=skip_bytes,count_bytes \
    skip=$((16#$section_offset + 16#$address - 16#$section_address)) count=$((16#$size)) status=none
}

first=$(manifest "$1" | od -An -tx1 -v)
[[ -n $first ]] || { echo "$1 has no manifest of $operator"; exit 1; }
for plugin in "$@"; do
  other=$(manifest "$plugin" | od -An -tx1 -v)
  [[ $other == "$first" ]] ||
    {
      diff <(echo "$first") <(echo "$other")
      echo "$operator: $plugin has a different manifest from $1"
      exit 1
    }
done

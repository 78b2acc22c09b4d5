#!/usr/bin/env bash
# exports.sh PLUGIN.so...: a plugin exports only symbols that begin with tenon_ and have a version
# in their name, at least one operator or kernel among them, and runs no code when it is loaded.
set -euo pipefail
for plugin in "$@"; do
  names=$(nm -D --defined-only "$plugin" | awk '{print $3}')
  if grep -vE '^tenon_(op|get|kernel|plugin)_v1(__|$)' <<<"$names"; then
    echo "$plugin exports these besides its operators"
    exit 1
  fi
  grep -qE '^tenon_(op|kernel)_v1__' <<<"$names" ||
    { echo "$plugin exports no operator and no kernel"; exit 1; }
  # One entry is the compiler's own; sanitizers add more, so this is not checked in sanitized
  # builds.
  initializers=$(readelf -SW "$plugin" | sed 's/^ *\[ *[0-9]*\] *//' |
    awk '$1 == ".init_array" {print $5}')
  ((16#${initializers:-0} <= 8)) || [[ -n ${TENON_SANITIZE:-} ]] ||
    { echo "$plugin has static initializers"; exit 1; }
done

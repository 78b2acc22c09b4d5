#!/usr/bin/env bash
# hidden.sh COMPILER [FOLDER]: every SDK header gives its definitions hidden visibility and puts
# them into the SDK's versioned namespace, or into namespace tenon if the host's headers use it,
# too. FOLDER: the repository, or a copy of it.
set -euo pipefail
cd "${2:-$(dirname "$0")/../..}"
shared=$(for header in host/include/tenon/host/*.hpp; do
  # these are for applications that define operators
  [[ $header == */udf.hpp ]] || "$1" -std=c++20 -MM -Isdk/include -Ihost/include "$header"
done | grep -oE 'sdk/include/tenon/[a-z_/]*\.hpp' | sort -u)

faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}
while read -r header; do
  spaces=$(grep -E '^namespace tenon' "$header" || true)
  [[ -n $spaces ]] || continue
  wanted='^namespace tenon::TENON_SDK(::[a-z]+)* \{$'
  ! grep -qx "$header" <<<"$shared" || wanted='^namespace tenon \{$'
  ! found=$(grep -vE "$wanted" <<<"$spaces") || fault "$header: $found: expected $wanted"
  awk '/^#pragma GCC visibility push\(hidden\)/ {hidden = 1}
    /^#pragma GCC visibility pop/ {hidden = 0} /^namespace / && !hidden {exit 1}' "$header" ||
    fault "$header: its declarations are not between #pragma GCC visibility push(hidden) and pop"
done < <(find sdk/include -name '*.hpp' | sort)
((faults == 0))

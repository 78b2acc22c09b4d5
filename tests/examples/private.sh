#!/usr/bin/env bash
# private.sh PLUGIN.so...: though built without -fvisibility=hidden, a plugin shares no object with others in its process: two operators
# whose classes have one name keep their own tables. ("u": of such objects the loader keeps one, even for RTLD_LOCAL.)
set -euo pipefail
for plugin in "$@"; do
  if nm -DC --defined-only "$plugin" | awk '$2 == "u"' | grep -v ' std::'; then
    echo "$plugin shares these with every plugin that has them too"
    exit 1
  fi
done

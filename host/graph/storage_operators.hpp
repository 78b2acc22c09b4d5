// Operators of the host's own that change how tensors are stored.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// cast_storage: what graphs put in where a node has no kernel for the storages it reads; also for users.
void add_storage_operators(PluginSet& plugins);

}  // namespace tenon

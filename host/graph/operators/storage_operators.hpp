// The host's own operators that change the storage of tensors.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Adds cast_storage, which lowering inserts if a node has no kernel for the storages it reads;
/// also available to users.
void add_storage_operators(PluginSet& plugins);

}  // namespace tenon

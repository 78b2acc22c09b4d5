// The host's own operators: those that change the storage of tensors, and those of which gradients
// consist.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Adds cast_storage, which lowering inserts if a node has no kernel for the storages it reads;
/// also available to users.
void add_storage_operators(PluginSet& plugins);

/// Adds sum_gradients, fill_like, stop_gradient, in_training, mul_gradients, broadcast_like and
/// sum_like.
void add_gradient_operators(PluginSet& plugins);

}  // namespace tenon

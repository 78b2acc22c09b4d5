// The operators that gradients are made with: part of the host, so that they are always there.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// sum_gradients, fill_like, stop_gradient, in_training, mul_gradients, broadcast_like and sum_like.
void add_gradient_operators(PluginSet& plugins);

}  // namespace tenon

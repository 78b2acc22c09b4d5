// Operators of which gradients consist. They belong to the host and therefore always
// available.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Adds sum_gradients, fill_like, stop_gradient, in_training, mul_gradients, broadcast_like and
/// sum_like.
void add_gradient_operators(PluginSet& plugins);

}  // namespace tenon

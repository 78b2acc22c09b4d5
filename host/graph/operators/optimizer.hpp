// Recognizes optimizers: operators that compute one step for one weight.
#pragma once
#include <tenon/host/catalog.hpp>

namespace tenon {

/// Whether the operator has the inputs weight, grad and learning_rate, in this order, and the
/// output updated.
bool is_optimizer(const OperatorInfo& info);

}  // namespace tenon

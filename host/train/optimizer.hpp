// Optimizers: operators that compute one step for one weight.
#pragma once
#include <memory>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

namespace tenon {

/// Whether the operator has the inputs weight, grad and learning_rate, in this order, and the
/// output updated.
bool is_optimizer(const OperatorInfo& info);

/// The optimizers of the catalog.
std::vector<std::string> optimizers(const Catalog& catalog);

}  // namespace tenon

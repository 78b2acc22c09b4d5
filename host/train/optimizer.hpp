// What makes an operator an optimizer: one step for one weight.
#pragma once
#include <memory>
#include <string>
#include <tenon/catalog.hpp>
#include <tenon/host.hpp>
#include <vector>

namespace tenon {

/// Whether it has the inputs weight, grad and learning_rate, in this order, and the output updated.
bool is_optimizer(const OperatorInfo& info);

/// All of the catalog.
std::vector<std::string> optimizers(const Catalog& catalog);

/// Throws Failure if there is no such operator (plugin) or it is not an optimizer (usage); the hint has similar names.
std::shared_ptr<const OperatorInfo> find_optimizer(Host& host, const std::string& name);

}  // namespace tenon

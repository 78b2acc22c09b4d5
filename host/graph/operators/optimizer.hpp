// Recognizes optimizers: operators that compute one step for one weight.
#pragma once
#include <array>
#include <cstddef>
#include <tenon/host/catalog.hpp>

namespace tenon {

/// Whether the operator has the inputs weight, grad and learning_rate, in this order, and the
/// output updated.
inline bool is_optimizer(const OperatorInfo& info) {
  static constexpr std::array names{"weight", "grad", "learning_rate"};
  if (info.inputs.size() != names.size() || info.outputs.empty() ||
      info.outputs[0].name != "updated")
    return false;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (info.inputs[i].name != names[i]) return false;
  return true;
}

}  // namespace tenon

#include "graph/kernel_set.hpp"

#include "tensor/kernel_function.hpp"

namespace tenon {

KernelSet::KernelSet(const LoadedOperator& op, std::int32_t device_type,
                     std::span<const tenon_attribute> attributes, bool backward,
                     const OperatorFactory* make) {
  for (const auto* table : op.candidates[device_type]) {
    if (backward && table->backward == nullptr) continue;
    Instance kernel(op, *table, attributes, make);
    if (empty())
      first_ = std::move(kernel);
    else
      alternatives_.push_back(std::move(kernel));
  }
}

bool KernelSet::depends_on_types() const {
  return !alternatives_.empty() || (!empty() && has_supports(*first_.table()));
}

std::size_t KernelSet::find(const OperatorInfo& info, CallTypes& types) const {
  std::size_t i = 0;
  while (i < size() && !supports(info, (*this)[i], types)) ++i;
  return i;
}

}  // namespace tenon

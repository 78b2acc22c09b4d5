// A node's kernels for one device; the types determine which one runs.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "graph/inference/operator_inference.hpp"
#include "graph/instance.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {

/// Kernel objects with the same parameters, highest priority first; usually one. Threads: as for
/// Instance.
class KernelSet {
 public:
  KernelSet() = default;
  /// Creates the kernels of LoadedOperator::candidates; with `backward`, only those that have a
  /// backward function. `make`: see Instance.
  KernelSet(const LoadedOperator& op, std::int32_t device_type,
            std::span<const tenon_attribute> attributes, bool backward,
            const OperatorFactory* make = nullptr) {
    for (const auto* table : op.candidates[device_type]) {
      if (backward && table->backward == nullptr) continue;
      Instance kernel(op, *table, attributes, make);
      if (empty())
        first_ = std::move(kernel);
      else
        alternatives_.push_back(std::move(kernel));
    }
  }
  /// Holds one existing object.
  explicit KernelSet(Instance only) : first_(std::move(only)) {}

  bool empty() const { return first_.table() == nullptr; }
  /// Whether the kernel depends on the types, including that none may fit.
  bool depends_on_types() const {
    return !alternatives_.empty() || (!empty() && has_supports(*first_.table()));
  }
  /// Index 0 has the highest priority.
  const Instance& operator[](std::size_t i) const { return i == 0 ? first_ : alternatives_[i - 1]; }
  std::size_t size() const { return empty() ? 0 : 1 + alternatives_.size(); }
  /// Returns the index of the first kernel that supports these types, or size() if there is none.
  /// Throws Failure with the reason of a supports() that fails.
  std::size_t find(const OperatorInfo& info, CallTypes& types) const {
    std::size_t i = 0;
    while (i < size() && !supports(info, (*this)[i], types)) ++i;
    return i;
  }

 private:
  Instance first_;  // not in the vector: avoids an allocation for each of a million nodes
  std::vector<Instance> alternatives_;
};

}  // namespace tenon

// A node's kernels for one device, of which types choose one.
#pragma once
#include <span>
#include <vector>

#include "graph/instance.hpp"
#include "graph/operator_inference.hpp"

namespace tenon {

/// Objects with the same parameters, the highest priority first; mostly one. Threads: as of an Instance.
class KernelSet {
 public:
  KernelSet() = default;
  /// Those of LoadedOperator::candidates; with `backward`, those that have it, too. `make` as of an Instance.
  KernelSet(const LoadedOperator& op, std::int32_t device_type, std::span<const tenon_attribute> attributes, bool backward,
            const OperatorFactory* make = nullptr);
  /// One object that was made already.
  explicit KernelSet(Instance only) : first_(std::move(only)) {}

  bool empty() const { return first_.table() == nullptr; }
  /// Whether types choose, or may leave none.
  bool chooses() const;
  /// 0 is the first.
  const Instance& operator[](std::size_t i) const { return i == 0 ? first_ : others_[i - 1]; }
  std::size_t size() const { return empty() ? 0 : 1 + others_.size(); }
  /// The first that computes these types; size() if none does. Throws Failure with the reason of a supports() that fails.
  std::size_t find(const OperatorInfo& info, CallTypes& types) const;

 private:
  Instance first_;  // not in the list: a million nodes have one each
  std::vector<Instance> others_;
};

}  // namespace tenon

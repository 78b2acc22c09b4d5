// The kernel objects of a session: one for each node.
#pragma once
#include <string>
#include <vector>

#include "graph/binding.hpp"

namespace tenon {

/// Made once for a session; its plans use them one after the other.
struct Kernels {
  Kernels(const GraphModel& model, const Binding& binding, const std::string& device);
  std::vector<Instance> nodes;
};

/// Throws Failure (plugin) where the operator cannot run on the CPU.
void require_kernel(const LoadedOperator& op);

}  // namespace tenon

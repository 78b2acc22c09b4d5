#include "plan/kernels.hpp"

#include <fmt/format.h>

#include "graph/parameters.hpp"

namespace tenon {

Kernels::Kernels(const GraphModel& model, const Binding& binding, const std::string& device) {
  std::vector<tenon_attribute> attributes;
  nodes.reserve(model.nodes.size());
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    at_node(model, id, [&] {
      const std::string wanted = node.device == 0 ? device : std::string(model.strings[node.device]);
      if (!wanted.empty() && wanted != "cpu")
        throw Failure(FailureKind::failed, fmt::format("is placed on device '{}' but this host has only cpu", wanted));
      const auto* table = binding.nodes[id].op->cpu;
      if (table == nullptr) throw Failure(FailureKind::plugin, "the operator has no kernel for cpu in any plugin");
      fill_attributes(model, node, attributes);
      nodes.emplace_back(*table, attributes);
    });
  }
}

}  // namespace tenon

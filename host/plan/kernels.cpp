#include "plan/kernels.hpp"

#include <fmt/format.h>

#include "graph/parameters.hpp"

namespace tenon {

void require_kernel(const LoadedOperator& op) {
  if (op.cpu == nullptr)
    throw Failure(FailureKind::plugin, op.kernel_trouble.empty() ? "there is no kernel for cpu in any plugin" : op.kernel_trouble);
  if (op.cpu->forward == nullptr) throw Failure(FailureKind::plugin, "its kernel for cpu has no forward function");
}

Kernels::Kernels(const GraphModel& model, const Binding& binding, const LoadedOperator& cast, const std::string& device)
    : cast_(cast), to_dense_(*cast.cpu, {}) {
  std::vector<tenon_attribute> attributes;
  nodes_.reserve(model.nodes.size());
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    at_node(model, id, [&] {
      const std::string wanted = node.device == 0 ? device : std::string(model.strings[node.device]);
      if (!wanted.empty() && wanted != "cpu")
        throw Failure(FailureKind::failed, fmt::format("is placed on device '{}' but this host has only cpu", wanted));
      require_kernel(*binding.nodes[id].op);
      if (node.pass == Pass::backward) {
        if (binding.nodes[id].op->cpu->backward == nullptr)
          throw Failure(FailureKind::plugin, "its kernel for cpu has no backward function");
        nodes_.emplace_back();
        return;
      }
      fill_attributes(model, node, attributes);
      nodes_.emplace_back(*binding.nodes[id].op->cpu, attributes);
    });
  }
}

}  // namespace tenon

#include "run/evaluation.hpp"

#include "graph/parameters.hpp"
#include "run/calls/operator_call.hpp"

namespace tenon {
namespace {

std::vector<Tensor> run_node(const GraphSnapshot& graph, NodeId id, CallTypes& types,
                             Threads& threads) {
  const auto& bound = graph.binding.nodes[id];
  if (object_factory(graph.model, id) != nullptr) return {};
  const OperatorCall call(*bound.op, all_parameters(graph.model, graph.model.nodes[id]));
  if (call.is_composed()) return {};
  CallTensors tensors;
  std::vector<tenon_tensor> unread(types.inputs.size());
  for (std::size_t i = 0; i < types.inputs.size(); ++i) {
    const bool read = types.values[i] != nullptr, present = types.inputs[i].present != 0;
    if (present && !read) unread[i] = tensor_of(types.inputs[i], TENON_DENSE);
    tensors.inputs.push_back(read ? types.values[i] : present ? &unread[i] : nullptr);
  }
  std::vector<Tensor> made;
  std::vector<tenon_tensor> written;
  for (const auto& type : types.outputs) {
    made.push_back(Tensor::empty(static_cast<DType>(type.dtype), shape_of(type)));
    written.push_back(made.back().abi());
  }
  for (auto& tensor : written) tensors.outputs.push_back(&tensor);
  tensors.writes.assign(written.size(), TENON_WRITE_TO);
  call.forward(types, tensors, {threads});
  return made;
}

}  // namespace

Evaluate evaluation(std::shared_ptr<const GraphSnapshot> graph, Threads& threads) {
  return [graph = std::move(graph), &threads](NodeId id, CallTypes& types) {
    return at_node(graph->model, id, [&] { return run_node(*graph, id, types, threads); });
  };
}

}  // namespace tenon

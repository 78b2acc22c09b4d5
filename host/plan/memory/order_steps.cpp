#include <fmt/format.h>

#include <algorithm>

#include "graph/inference/inference.hpp"
#include "graph/operators/operator_use.hpp"
#include "io/counted.hpp"
#include "plan/execution_order.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

// Returns a hint that names an input whose elements inference needs; empty if there is none.
std::string missing_elements_hint(const GraphModel& model, const Binding& binding, NodeId id,
                                  const std::vector<tenon_type>& types) {
  const auto& bound = binding.nodes[id];
  if (bound.instance == nullptr) return {};
  CallTypes node_types;
  gather_types(model, model.nodes[id], types, node_types);
  infer_operator(*bound.op, bound.instance->get(), node_types);
  for (std::size_t i = 0; i < node_types.requested.size(); ++i)
    if (node_types.requested[i] != 0)
      return fmt::format(
          "the shape depends on the elements of input '{}', which must be a constant",
          bound.info->inputs[declared_input(*bound.info, i)].name);
  return {};
}

// Whether the output has no rank although all inputs of infer() are known.
bool lacks_shape(const GraphModel& model, const NodeRecord& node, ValueId output,
                 const std::vector<tenon_type>& types) {
  const auto* edges = model.edges.data() + node.first_edge;
  return types[output].rank < 0 && std::all_of(edges, edges + node.input_count, [&](ValueId value) {
           return value == none || is_known(types[value]);
         });
}

void require_known(const GraphModel& model, const Binding& binding, NodeId id,
                   const std::vector<tenon_type>& types,
                   const std::vector<std::uint32_t>& readers) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.output_count + node.input_count; ++i) {
    const bool output = i < node.output_count;
    const auto value =
        output ? node.first_output + i : model.edges[node.first_edge + i - node.output_count];
    if (value == none || (output && node.pass == Pass::backward && readers[value] == 0)) continue;
    if (is_known(types[value]) && byte_count(types[value]) >= 0) continue;
    if (output && types[value].storage == TENON_STORAGE_UNKNOWN) {  // its kernel allocates it
      if (types[value].dtype != TENON_DTYPE_UNKNOWN) continue;
      throw Failure(
          FailureKind::failed,
          fmt::format(
              "{}: output {} is {}, but its kernel can allocate it only if infer() sets its dtype",
              node_label(model, id), value_label(model, value), to_string(types[value])));
    }
    const auto& info = *binding.nodes[id].info;
    const bool overflow = is_known(types[value]);
    const auto what = overflow ? ", more than memory can hold"
                      : types[value].dtype == TENON_DTYPE_UNKNOWN
                          ? " but its dtype and its full shape must be known"
                          : " but its full shape must be known";
    const auto elements_hint =
        overflow || !output ? std::string() : missing_elements_hint(model, binding, id, types);
    throw Failure(
        FailureKind::failed,
        fmt::format("{}: {} {} is {}{}", node_label(model, id), output ? "output" : "input",
                    value_label(model, value), to_string(types[value]), what),
        overflow                 ? ""
        : !elements_hint.empty() ? elements_hint
        : output && lacks_shape(model, node, value, types)
            ? "its infer() sets no shape for the output; a scalar is tenon::Shape::scalar(), and "
              "tenon::Shape{} is an unknown "
              "shape"
            : fmt::format("specify the missing dimensions or dtypes at the graph's inputs and "
                          "variables; {} takes {}",
                          info.name, counted(info.inputs.size(), "input")));
  }
}

}  // namespace

// Fails unless the types of everything that steps read and write are known and fit into memory.
void order_steps(PlanDraft& draft) {
  auto& memory = draft.memory();
  const auto& model = draft.model();
  const auto& binding = draft.graph().binding();
  memory.order = execution_order(draft.graph(), draft.request.training);
  auto readers = count_readers(model, memory.order, draft.request.training);
  memory.readers = std::move(readers.all);
  draft.output_names = std::move(readers.output_names);
  for (const auto id : memory.order) {
    require_known(model, binding, id, memory.types, memory.readers);
    if (model.nodes[id].pass == Pass::backward)
      require_known(model, binding, model.nodes[id].origin, memory.types, memory.readers);
  }
}

}  // namespace tenon

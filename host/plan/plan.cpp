#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "graph/name_mapping.hpp"
#include "io/counted.hpp"

namespace tenon {
namespace {

std::string input_names(const GraphModel& model) {
  std::vector<std::string_view> names;
  for (const auto id : model.inputs) names.push_back(model.strings[model.values[id].name]);
  return listed(names);
}

// Dimensions with equal names must have equal sizes.
void require_equal_sizes(const GraphModel& model, const std::map<ValueId, tenon_type>& inputs) {
  struct Dim {
    ValueId input;
    std::int64_t size;
  };
  std::unordered_map<StringId, Dim> sizes;
  for (const auto& [value, type] : inputs) {
    if (model.values[value].dims == none) continue;
    const auto& names = model.dim_names[model.values[value].dims];
    for (int i = 0; i < type.rank && static_cast<std::size_t>(i) < names.size(); ++i) {
      const auto name = names[static_cast<std::size_t>(i)];
      if (name == 0 || type.dims[i] < 0) continue;
      const auto [first, is_new] = sizes.try_emplace(name, Dim{value, type.dims[i]});
      if (!is_new && first->second.size != type.dims[i])
        throw Failure(
            FailureKind::usage,
            fmt::format(
                "dimension '{}' is {} in input '{}' and {} in input '{}', but both must be equal",
                model.strings[name], first->second.size, value_label(model, first->second.input),
                type.dims[i], value_label(model, value)));
    }
  }
}

}  // namespace

std::map<ValueId, tenon_type> input_types(const GraphModel& model,
                                          const std::map<std::string, Shape>& user_shapes) {
  const auto shapes = by_input_names(model, user_shapes);
  std::map<ValueId, tenon_type> types;
  for (const auto id : model.inputs) {
    auto type = model.values[id].type;
    if (const auto found = shapes.find(std::string(model.strings[model.values[id].name]));
        found != shapes.end()) {
      const auto storage = type.storage;
      type = type_of(static_cast<DType>(type.dtype), found->second);
      type.storage = storage;
    }
    types.emplace(id, type);
  }
  for (const auto& [name, shape] : shapes)
    if (find_input(model, name) == none)
      throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name),
                    model.inputs.empty() ? "it has no inputs"
                                         : fmt::format("its inputs are {}", input_names(model)));
  return types;
}

Inferred infer_with(const GraphModel& model, const Binding& binding, const TensorTable& tensors,
                    const std::map<ValueId, tenon_type>& inputs,
                    const RequestedOutputs* requested_outputs, const InferenceStart& known) {
  Inferred inferred;
  auto& types = inferred.types = known.types == nullptr ? declared_types(model) : *known.types;
  std::vector<bool> changed(types.size());
  for (ValueId value = 0; value < types.size(); ++value) {
    if (!tensors[value]) continue;
    const auto type = type_of(tensors[value].dtype(), tensors[value].shape());
    changed[value] = std::memcmp(&types[value], &type, sizeof type) != 0;
    types[value] = type;
  }
  for (const auto& [value, type] : inputs) {
    const auto merged = merge(types[value], type);
    changed[value] = merged == Merge::learned;
    if (merged == Merge::contradiction)
      throw Failure(FailureKind::usage, fmt::format("input '{}' is {} but the graph needs {}",
                                                    value_label(model, value), to_string(type),
                                                    to_string(model.values[value].type)));
  }
  require_equal_sizes(model, inputs);
  if (known.elements != nullptr)
    for (const auto& [value, tensor] : *known.elements) changed[value] = true;
  Inference inference(model, binding, TypeTable(types),
                      requested_outputs == nullptr ? nullptr : &requested_outputs->nodes,
                      known.elements, known.evaluate);
  if (known.inference_complete && known.types == nullptr)
    inference.run_again(std::move(changed));
  else
    inference.run();
  inferred.missing_elements = inference.missing_elements();
  inferred.evaluated = inference.take_evaluated();
  inferred.read_constants = inference.read_constants();
  for (ValueId value = 0; value < types.size(); ++value)
    types[value].storage =
        tensors[value] ? tensors[value].abi().storage : static_cast<std::uint8_t>(TENON_DENSE);
  for (const auto& [value, type] : inputs) types[value].storage = type.storage;
  return inferred;
}

const PlannedStream* Plan::stream_of(std::size_t step) const {
  if (gpus.work_of.empty() || gpus.work_of[step] == none) return nullptr;
  return &gpus.streams[gpus.work[gpus.work_of[step]].stream];
}

bool Plan::captures(std::size_t step) const {
  return stream_of(step) != nullptr && gpus.work[gpus.work_of[step]].is_segment();
}

}  // namespace tenon

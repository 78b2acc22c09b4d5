// Constant folding at import, and its limits: a small file must not become a large graph.
#include <fmt/format.h>

#include <algorithm>

#include "graph/inference/type.hpp"
#include "onnx/import/node_import.hpp"
#include "run/calls/operator_call.hpp"

namespace tenon::onnx {
namespace {

constexpr std::int64_t max_folded = 1 << 20;  // bytes that a folded call may read and write
constexpr std::size_t min_result_bytes = std::size_t{32} << 20;
// limit on nodes of expanded functions, plus the weight of their contents
constexpr std::size_t min_inlined = 100'000;
constexpr std::int64_t tensor_overhead = 256;  // overhead of a tensor, in bytes

}  // namespace

bool Importer::may_make(std::int64_t bytes) {
  if (bytes < 0) return false;
  const auto limit = min_result_bytes + 4 * model_.bytes.size();
  if (static_cast<std::size_t>(bytes) + tensor_overhead > limit - std::min(limit, made_))
    return false;
  made_ += static_cast<std::size_t>(bytes + tensor_overhead);
  return true;
}

bool Importer::may_make(const tenon_type& type) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(static_cast<DType>(type.dtype)));
  for (int i = 0; i < type.rank; ++i)
    if (type.dims[i] < 0 || __builtin_mul_overflow(bytes, type.dims[i], &bytes)) return false;
  return may_make(bytes);
}

// Folds small calls whose result is the same in every run. Quantized weights stay, because rules
// compute with their integers; sessions fold those that no rule takes.
bool Importer::may_compute(const OperatorInfo& info, std::span<const Operand* const> inputs) const {
  if (inputs.empty() || info.random || !info.states.empty() || info.name == "dropout") return false;
  std::int64_t bytes = 0;
  for (const auto* input : inputs) {
    if (input->empty()) continue;
    if (!input->known() || input->elements.storage() != Storage::dense) return false;
    if (info.name == "dequantize" && input == inputs[0] && input->elements.size() > 1) return false;
    bytes += byte_count(type_of({none, input->elements, {}}));
  }
  return bytes <= max_folded;
}

// Results of broadcast_to, tile or pad may be far larger than their inputs.
bool Importer::may_compute(const LoadedOperator& op, const std::vector<Tensor>& inputs,
                           const Attributes& attributes) {
  std::int64_t bytes = 0;
  try {
    const OperatorCall call(op, attributes);
    CallTypes types;
    types.inputs.resize(input_count(*op.info, inputs.size()), unknown_type());
    types.values.resize(types.inputs.size());
    for (auto& type : types.inputs) type.present = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) continue;
      types.inputs[i] = tenon::type_of(inputs[i].dtype(), inputs[i].shape());
      types.inputs[i].present = 1;
      if (may_infer_read(inputs[i].abi())) types.values[i] = &inputs[i].abi();
    }
    types.outputs.resize(call.outputs(), unknown_type());
    call.infer(types);
    for (const auto& type : types.outputs)
      if (is_known(type) &&
          (byte_count(type) > max_folded || (bytes += byte_count(type)) > max_folded))
        return false;
  } catch (const Failure&) {
    return true;  // the call itself will report the error
  }
  return may_make(bytes);
}

std::vector<Operand> Importer::compute(const std::string& op, const std::vector<Tensor>& inputs,
                                       const Attributes& attributes) {
  std::vector<Operand> made;
  for (auto& tensor : host_.call_all(op, inputs, attributes))
    made.push_back({none, std::move(tensor), {}});
  return made;
}

// Caches the tensor of an attribute, which all expansions of a function share.
Tensor Importer::elements_of(const proto::Tensor& tensor, std::string_view name) {
  auto& read = attribute_tensors_[&tensor];
  if (!read) read = tensors_.read(tensor, name);
  return read;
}

void Importer::charge_inlined(const NodeImport& node, const proto::Function& function) {
  auto [known, is_new] = function_sizes_.try_emplace(&function, 0);
  if (is_new)
    for_each_node(function.nodes, [&, &size = known->second](const proto::Node& inner) {
      size += 1 + inner.inputs.size() / 4 + inner.outputs.size() / 4;
      for (const auto& attribute : inner.attributes)
        std::visit(
            [&]<class T>(const T& value) {
              if constexpr (requires { value.size(); }) size += value.size() / 16;
            },
            attribute.value);
    });
  charge_inlined(node, known->second, "functions");
}

void Importer::charge_inlined(const NodeImport& node, std::size_t weight, const char* what) {
  inlined_ += weight;
  if (const auto limit = min_inlined + model_.bytes.size() / 40; inlined_ > limit)
    node.refuse(fmt::format("its {} expand to more than {} nodes", what, limit));
}

}  // namespace tenon::onnx

#include "serve/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

#include "io/counted.hpp"
#include "serve/served_dtype.hpp"

namespace tenon::serve {
namespace {

ServedTensor served_tensor(const char* what, const ValueInfo& value) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw Failure(FailureKind::usage,
                  fmt::format("{} '{}' cannot be served: {}", what, value.name, why), hint);
  };
  if (!value.dtype) refuse("its dtype is unknown", "declare the dtypes of the graph's inputs");
  if (served(*value.dtype) == nullptr)
    refuse(fmt::format("it is {}, but clients support only bool, integers, float16, bfloat16, "
                       "float32 and float64",
                       name_of(*value.dtype)),
           "convert it inside the graph");
  if (!value.shape.has_rank())
    refuse("its rank is unknown", "declare the shapes of the graph's inputs");
  return {value.name, *value.dtype, value.shape};
}

bool begins_with_rows(const ServedTensor& tensor) {
  return tensor.shape.rank() > 0 && tensor.shape[0] == unknown;
}

}  // namespace

Signature signature_of(const Graph& graph, std::span<const std::string> requested) {
  Signature signature;
  const auto all = graph.outputs();
  std::vector<std::string> names, outputs;
  names.reserve(all.size());
  for (const auto& output : all) names.push_back(output.name);
  for (const auto& name : requested) {
    outputs.push_back(name_in_graph(names, name, graph.changed_names()));
    if (!outputs.back().empty()) continue;
    throw Failure(
        FailureKind::usage, fmt::format("the graph has no output '{}'", name),
        did_you_mean(similar_names(name, names), fmt::format("its outputs are {}", listed(names))));
  }
  for (const auto& output : all)
    if (outputs.empty() || std::find(outputs.begin(), outputs.end(), output.name) != outputs.end())
      signature.outputs.push_back(served_tensor("output", output));
  if (signature.outputs.empty())
    throw Failure(FailureKind::usage, "the graph has no outputs to serve", "");
  for (const auto& input : graph.needed_inputs(outputs))
    signature.inputs.push_back(served_tensor("input", input));
  if (signature.inputs.empty())
    throw Failure(FailureKind::usage,
                  "the graph has no inputs, so every response would be the same",
                  "use tenon run to write its outputs");
  signature.all_inputs = signature.inputs.size() == graph.inputs().size();
  signature.all_outputs = signature.outputs.size() == all.size();
  signature.may_have_rows =
      std::all_of(signature.inputs.begin(), signature.inputs.end(), begins_with_rows) &&
      std::all_of(signature.outputs.begin(), signature.outputs.end(), begins_with_rows);
  return signature;
}

}  // namespace tenon::serve

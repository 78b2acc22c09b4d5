#include "cli/output/gradient_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::cli {

static constexpr const char* prefix = "grad_";

bool has_gradient(DType dtype) {
  return (floating + any_complex).has(dtype);
}

void add_gradient_outputs(Graph& graph, const std::vector<Value>& gradients,
                          const std::vector<std::string>& names, const std::string& of) {
  if (std::all_of(gradients.begin(), gradients.end(),
                  [](const Value& gradient) { return gradient.empty(); }))
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "nothing to differentiate: {} does not depend on any floating-point or complex input",
            of));
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].empty()) graph.output(names[i], gradients[i]);
}

void require_requested_gradient(const RequestedOutputs& requested) {
  const auto is_gradient = [](const auto& output) { return output.first.starts_with(prefix); };
  if (!requested.empty() && std::none_of(requested.begin(), requested.end(), is_gradient))
    throw Failure(
        FailureKind::usage, "--gradient has no effect: --output names no gradient",
        "gradients are outputs: add --output grad_NAME with the name of an input or variable");
}

}  // namespace tenon::cli

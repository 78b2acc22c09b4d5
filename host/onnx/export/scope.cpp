#include "onnx/export/scope.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::onnx {

std::string Scope::free_name(std::string_view wanted) {
  std::string name(wanted);
  for (int i = 1; !take(name); ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

// A domain has one version in a model: the highest that a node asks for.
void Scope::add(written::Node node, std::int64_t version) {
  auto& known = opsets[node.domain];
  known = std::max(known, version);
  nodes.push_back(std::move(node));
}

std::string Scope::constant(std::string_view wanted, const Tensor& elements) {
  constexpr std::int64_t most_shared = 64;  // bytes: axes, sizes, factors
  const bool small = elements.bytes() <= most_shared;
  if (small)
    for (const auto& [name, known] : constants_)
      if (same_bits(known, elements)) return name;
  auto name = free_name(wanted);
  if (small) constants_.emplace_back(name, elements);
  if (kind_ == Kind::graph)
    initializers.emplace_back(name, elements);
  else
    nodes.push_back({.type = "Constant", .inputs = {}, .outputs = {name}, .attributes = {{"value", elements}}});
  return name;
}

}  // namespace tenon::onnx

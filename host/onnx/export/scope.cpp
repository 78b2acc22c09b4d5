#include "onnx/export/scope.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::onnx {

bool Scope::take(std::string_view name) {
  auto& all = outermost();
  if (!all.names_.emplace(name).second) return false;
  all.taken_.emplace_back(name);
  return true;
}

void Scope::roll_back(const Mark& mark) {
  nodes.resize(mark.nodes);
  initializers.erase(initializers.begin() + static_cast<std::ptrdiff_t>(mark.initializers),
                     initializers.end());
  auto& all = outermost();
  for (; all.taken_.size() > mark.names; all.taken_.pop_back()) all.names_.erase(all.taken_.back());
  for (; shared_.size() > mark.constants; shared_.pop_back()) constants_.erase(shared_.back());
  opsets = mark.opsets;
  limits_ = mark.limits;
}

std::string Scope::free_name(std::string_view base) {
  std::string name(base);
  for (int i = 1; !take(name); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string Scope::free_node_name(std::string_view base) {
  std::string name(base);
  for (int i = 1; node_names_.contains(name) || !take(name); ++i)
    name = fmt::format("{}_{}", base, i);
  return name;
}

// A model imports one version per domain: the highest that any node needs.
void Scope::add(written::Node node, std::int64_t version) {
  auto& known = opsets[node.domain];
  known = std::max(known, version);
  nodes.push_back(std::move(node));
}

std::optional<std::int64_t> Scope::version_for(const OnnxForm& form) const {
  const auto known = opsets.find(form.domain);
  const auto version =
      std::max<std::int64_t>(form.since, known == opsets.end() ? 1 : known->second);
  const auto limit = limits_.find(form.domain);
  if (limit != limits_.end() && version > limit->second) return {};
  return version;
}

void Scope::limit(const OnnxForm& form) {
  if (form.domain.empty() || !form.until) return;
  const auto [limit, added] = limits_.emplace(form.domain, *form.until);
  limit->second = std::min<std::int64_t>(limit->second, *form.until);
}

std::string Scope::constant(std::string_view base, const Tensor& elements) {
  constexpr std::int64_t max_shared = 64;  // in bytes; enough for axes, sizes and factors
  auto name = std::string();
  if (elements.bytes() <= max_shared) {
    const auto here = elements.to("cpu").make_contiguous();
    const std::string_view bytes(static_cast<const char*>(here.data()),
                                 static_cast<std::size_t>(here.bytes()));
    const auto key = fmt::format("{} {}", to_string(type_of(elements)), bytes);
    if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
    name = free_name(base);
    constants_.emplace(key, name);
    shared_.push_back(key);
  } else {
    name = free_name(base);
  }
  if (kind_ == Kind::graph)
    initializers.emplace_back(name, elements);
  else
    nodes.push_back(
        {.type = "Constant", .inputs = {}, .outputs = {name}, .attributes = {{"value", elements}}});
  return name;
}

}  // namespace tenon::onnx

// How nodes of one type are computed, cached because a model may have many nodes but few types.
#include <tenon/host/udf.hpp>

#include "onnx/import/missing.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

Importer::Kind& Importer::kind_of(const proto::Node& node, std::int64_t version) {
  const auto [found, is_new] = kinds_.try_emplace({node.domain, node.type, node.overload, version});
  auto& kind = found->second;
  if (!is_new) return kind;
  kind.name = std::string(node.domain) + (node.domain.empty() ? "" : "::") + std::string(node.type);
  if (const auto mapped = options_.map.find(kind.name); mapped != options_.map.end())
    kind.mapped = &mapped->second;
  kind.function = model_.function(node.domain, node.type, node.overload);
  kind.claims = catalog_.find_onnx(node.domain, node.type, static_cast<int>(version));
  kind.composition = find_composition(node.domain, node.type, version);
  kind.exported = find_exported(catalog_, node);
  if (!node.domain.empty()) kind.same_name = catalog_.find(internal::snake_case(node.type));
  return kind;
}

const LoadedOperator& Importer::loaded(const std::string& op) {
  auto& found = loaded_[op];
  if (found == nullptr) found = &builder_.plugins().load(op);
  return *found;
}

}  // namespace tenon::onnx

#include "onnx/import/text_values.hpp"

#include <algorithm>

#include "onnx/dtype.hpp"
#include "onnx/fields.hpp"
#include "onnx/wire.hpp"

namespace tenon::onnx {
namespace {

constexpr std::string_view ml = "ai.onnx.ml";

struct Mover {
  std::string_view domain, type;
  std::size_t first = 0, end = 1;  // which inputs are moved
};

constexpr Mover movers[] = {
    {"", "Cast"},           {"", "Compress"},    {"", "Concat", 0, SIZE_MAX},
    {"", "Expand"},         {"", "Flatten"},     {"", "Gather"},
    {"", "GatherElements"}, {"", "GatherND"},    {"", "Identity"},
    {"", "Reshape"},        {"", "Slice"},       {"", "Split"},
    {"", "Squeeze"},        {"", "Tile"},        {"", "Transpose"},
    {"", "Unsqueeze"},      {"", "Where", 1, 3}, {ml, "ArrayFeatureExtractor"}};

const Mover* mover_of(const proto::Node& node) {
  const auto* found = std::find_if(std::begin(movers), std::end(movers), [&](const Mover& one) {
    return one.domain == node.domain && one.type == node.type;
  });
  return found == std::end(movers) ? nullptr : found;
}

bool is_vectorizer(const proto::Node& node) {
  return node.domain.empty() && node.type == "TfIdfVectorizer";
}

}  // namespace

std::int64_t TextNames::index_of(std::string_view text) {
  const auto found = indices_.find(text);
  if (found != indices_.end()) return found->second;
  const auto index = static_cast<std::int64_t>(names_.size());
  indices_.emplace(names_.emplace_back(text), index);
  return index;
}

bool moves_texts(const proto::Node& node) {
  return mover_of(node) != nullptr;
}

bool reads_texts(const proto::Node& node) {
  constexpr std::string_view types[] = {"CategoryMapper", "LabelEncoder", "OneHotEncoder"};
  return is_vectorizer(node) || (node.domain == ml && std::find(std::begin(types), std::end(types),
                                                                node.type) != std::end(types));
}

bool has_texts(const proto::Node& node) {
  constexpr std::string_view names[] = {"cats_strings", "classes_strings", "classlabels_strings",
                                        "keys_strings", "pool_strings",    "values_strings"};
  return (node.domain == ml || is_vectorizer(node)) &&
         std::any_of(node.attributes.begin(), node.attributes.end(),
                     [&](const proto::Attribute& attribute) {
                       return std::find(std::begin(names), std::end(names), attribute.name) !=
                              std::end(names);
                     });
}

bool has_texts(const proto::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [](const proto::ValueInfo& input) {
                       return input.type != nullptr && input.type->dtype == string_type;
                     }) ||
         std::any_of(graph.initializers.begin(), graph.initializers.end(),
                     [](const proto::Tensor& tensor) { return tensor.dtype == string_type; }) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const proto::Node& node) { return has_texts(node); });
}

std::vector<std::string_view> strings_of(const Model& model, const proto::Tensor& tensor) {
  std::vector<std::string_view> found;
  if (tensor.data != proto::TensorData::typed) return found;
  const WireFile file{model.path, model.bytes.data()};
  Wire wire(file, tensor.bytes, "a tensor");
  while (wire.next())
    if (wire.field() == field::tensor::string_data) found.push_back(wire.text("string_data"));
  return found;
}

TextValues::TextValues(const proto::Graph& graph) {
  for (const auto& node : graph.nodes) {
    const auto* mover = mover_of(node);
    if (mover == nullptr || node.outputs.empty()) continue;
    const auto all = root_of(set_of(node.outputs[0]));
    const auto join = [&](std::string_view value) {
      if (!value.empty()) parents_[root_of(set_of(value))] = root_of(all);
    };
    for (auto i = mover->first; i < std::min<std::size_t>(mover->end, node.inputs.size()); ++i)
      join(node.inputs[i]);
    for (const auto output : node.outputs) join(output);
  }
}

std::size_t TextValues::set_of(std::string_view value) {
  const auto [found, is_new] = sets_.try_emplace(value, parents_.size());
  if (is_new) parents_.push_back(parents_.size());
  return found->second;
}

std::size_t TextValues::root_of(std::size_t set) {
  while (parents_[set] != set) set = parents_[set] = parents_[parents_[set]];
  return set;
}

SharedNames TextValues::names_of(std::string_view value) {
  auto& names = names_[root_of(set_of(value))];
  if (names == nullptr) names = std::make_shared<TextNames>();
  return names;
}

}  // namespace tenon::onnx

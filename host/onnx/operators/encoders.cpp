// ai.onnx.ml's encoders and TfIdfVectorizer, which look up numbers and texts. Texts are indices of
// names.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "onnx/dtype.hpp"
#include "onnx/operators/traditional_models.hpp"

namespace tenon::onnx {
namespace {

/// Indices of texts; new texts are added to the names.
std::vector<std::int64_t> indices_of(const List<std::string_view>& texts, TextNames& names) {
  std::vector<std::int64_t> indices;
  indices.reserve(texts.size());
  for (const auto text : texts) indices.push_back(names.index_of(text));
  return indices;
}

Tensor list_tensor(const std::vector<std::int64_t>& list) {
  return Tensor::from(list, {static_cast<std::int64_t>(list.size())});
}

/// The attribute's tensor if it holds strings, else null.
const proto::Tensor* string_tensor(NodeImport& node, std::string_view name) {
  const auto* found = node.attribute(name);
  const auto* const* tensor =
      found == nullptr ? nullptr : std::get_if<const proto::Tensor*>(&found->value);
  return tensor != nullptr && (*tensor)->dtype == string_type ? *tensor : nullptr;
}

/// One table of a label encoder.
struct Table {
  Tensor elements;
  SharedNames names;  // null for numbers
};

/// From an attribute for each type, or a tensor. `names`: of texts.
template <class Names>
Table table_of(NodeImport& node, const std::string& name, const Names& names) {
  Table made;
  const auto set = [&](Tensor found) {
    node.require(!made.elements, fmt::format("it has several lists of {}", name));
    made.elements = std::move(found);
  };
  if (const auto* texts = node.texts(name + "_strings"))
    made.names = names(), set(list_tensor(indices_of(*texts, *made.names)));
  if (const auto* list = integers_of(node, name + "_int64s")) set(tensor_of(*list));
  if (auto list = numbers_of(node, name + "_floats", f32)) set(std::move(list));
  if (const auto* strings = string_tensor(node, name + "_tensor")) {
    node.require(strings->dims.size() == 1, fmt::format("its {}_tensor is not a list", name));
    const auto texts = strings_of(node.importer().model(), *strings);
    made.names = names(), set(list_tensor(indices_of({texts.data(), texts.size()}, *made.names)));
  } else if (auto tensor = node.tensor(name + "_tensor")) {
    node.require(tensor.shape().rank() == 1, fmt::format("its {}_tensor is not a list", name));
    set(std::move(tensor));
  }
  node.require(static_cast<bool>(made.elements), fmt::format("it has no {}", name));
  return made;
}

/// The names of input 0, which must be text.
SharedNames names_of_input(NodeImport& node, const char* keys) {
  const auto x = node.input(0);
  if (x.names == nullptr)
    node.refuse(fmt::format("its {} are texts, but its input is {}", keys, name_of(node.dtype(x))));
  return x.names;
}

void require_numbers(NodeImport& node, const char* keys) {
  node.require(node.input(0).names == nullptr,
               fmt::format("its {} are numbers, but its input is text", keys));
}

/// The output for texts and numbers that are not keys.
Tensor default_of(NodeImport& node, const Table& values) {
  const auto text = node.text("default_string", "_Unused");
  const auto integer = node.integer("default_int64", -1);
  const auto real = node.real("default_float", -0.0);
  const auto* strings = string_tensor(node, "default_tensor");
  if (values.names != nullptr) {
    auto found = std::string_view(text);
    if (strings != nullptr) {
      const auto all = strings_of(node.importer().model(), *strings);
      node.require(all.size() == 1, "its default_tensor is not one element");
      found = all[0];
    } else {
      node.require(node.attribute("default_tensor") == nullptr,
                   "its values are texts, but its default_tensor is not");
    }
    return Tensor::from({values.names->index_of(found)}, {1});
  }
  node.require(strings == nullptr, "its default_tensor is text, but its values are numbers");
  if (auto tensor = node.tensor("default_tensor")) return tensor;
  const auto dtype = values.elements.dtype();
  return dtype == i64 || dtype == i32 ? node.converted(Tensor::from({integer}, {1}), dtype)
                                      : node.converted(Tensor::from({real}, {1}), dtype);
}

void encode(NodeImport& node, const Table& keys, const Table& values, bool match_nan) {
  const auto x = node.input(0);
  if (keys.names == nullptr) require_numbers(node, "keys");
  node.require(
      keys.elements.size() == values.elements.size(),
      fmt::format("it has {} keys and {} values", keys.elements.size(), values.elements.size()));
  node.require(keys.elements.dtype() == node.dtype(x),
               fmt::format("its keys are {}, but its input is {}", name_of(keys.elements.dtype()),
                           name_of(node.dtype(x))));
  auto made = node.add("tenon.label_encoder",
                       std::vector{x, node.constant(keys.elements), node.constant(values.elements),
                                   node.constant(default_of(node, values))},
                       {{"match_nan", match_nan}});
  made.names = values.names;
  node.output(made);
}

void label_encoder(NodeImport& node) {
  const auto keys = table_of(node, "keys", [&] { return names_of_input(node, "keys"); });
  const auto values = table_of(node, "values", [&] { return node.names_of_output(0); });
  encode(node, keys, values, node.version() >= 4);
}

/// Integers to texts, or texts to integers, depending on the input. The last of equal keys counts.
void encode_either(NodeImport& node, const List<std::string_view>& texts,
                   std::vector<std::int64_t> integers) {
  node.require(texts.size() == integers.size(),
               fmt::format("it has {} texts and {} integers", texts.size(), integers.size()));
  const auto names = node.input(0).names;
  const auto other = names != nullptr ? names : node.names_of_output(0);
  auto indices = indices_of(texts, *other);
  std::reverse(integers.begin(), integers.end()), std::reverse(indices.begin(), indices.end());
  const Table numbers{list_tensor(integers), nullptr}, words{list_tensor(indices), other};
  names != nullptr ? encode(node, words, numbers, false) : encode(node, numbers, words, false);
}

/// Until version 1: the integers are positions.
void label_encoder_by_position(NodeImport& node) {
  const auto* texts = node.texts("classes_strings");
  if (texts == nullptr) return label_encoder(node);  // in a model that declares an old version
  std::vector<std::int64_t> positions(texts->size());
  std::iota(positions.begin(), positions.end(), 0);
  encode_either(node, *texts, positions);
}

void category_mapper(NodeImport& node) {
  const auto* texts = node.texts("cats_strings");
  const auto* integers = integers_of(node, "cats_int64s");
  node.require(texts != nullptr && integers != nullptr,
               "it needs both cats_strings and cats_int64s");
  encode_either(node, *texts, {integers->begin(), integers->end()});
}

void one_hot_encoder(NodeImport& node) {
  const auto* integers = integers_of(node, "cats_int64s");
  const auto* texts = node.texts("cats_strings");
  const bool has_integers = integers != nullptr && !integers->empty();
  node.require(has_integers || (texts != nullptr && !texts->empty()), "it has no categories");
  node.require(!has_integers || texts == nullptr || texts->empty(),
               "it has both cats_strings and cats_int64s");
  const auto count = static_cast<std::int64_t>(has_integers ? integers->size() : texts->size());
  node.charge_bytes(8 * count);
  if (has_integers) require_numbers(node, "categories");
  auto keys = has_integers ? std::vector<std::int64_t>(integers->begin(), integers->end())
                           : indices_of(*texts, *names_of_input(node, "categories"));
  std::vector<std::int64_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), 0);
  // the last of equal categories counts
  std::reverse(keys.begin(), keys.end()), std::reverse(indices.begin(), indices.end());
  const auto x = node.input(0);
  std::vector<Operand> inputs{node.cast(x, i64), node.constant(keys), node.constant(indices)};
  if (node.integer("zeros", 1) != 0) inputs.push_back(node.constant({-1}));
  auto index = node.add("tenon.label_encoder", inputs);
  if (allows(floating.mask, node.dtype(x)))  // as an integer, NaN is 0, which may be a category
    index = node.add("tenon.where", std::vector{node.add("tenon.is_nan", std::vector{x}),
                                                node.constant({-1}), index});
  node.output(
      node.add("tenon.one_hot", std::vector{index}, {{"depth", count}, {"dtype", "float32"}}));
}

/// Texts become indices of the input's names, as for an encoder.
void tfidf_vectorizer(NodeImport& node) {
  const auto list = [&](const char* name) {
    const auto found = node.integers(name);
    node.require(found && !found->empty(), fmt::format("it has no {}", name));
    return *found;
  };
  const auto* texts = node.texts("pool_strings");
  const bool is_text = texts != nullptr && !texts->empty();
  const auto pool =
      is_text ? indices_of(*texts, *names_of_input(node, "n-grams")) : list("pool_int64s");
  if (!is_text) require_numbers(node, "n-grams");
  const auto columns = list("ngram_indexes");
  const auto last = *std::max_element(columns.begin(), columns.end());
  node.require(last >= 0 && last < INT32_MAX, fmt::format("its ngram_indexes contain {}", last));
  node.charge_bytes(4 * (last + 1));
  std::vector<Operand> inputs{node.input(0), node.constant(pool),
                              node.constant(list("ngram_counts")), node.constant(columns)};
  if (const auto weights = numbers_of(node, "weights", f32))
    inputs.push_back(node.constant(weights));
  auto mode = node.text("mode", "");
  node.require(mode == "TF" || mode == "IDF" || mode == "TFIDF",
               fmt::format("its mode '{}' is not TF, IDF or TFIDF", mode));
  for (auto& letter : mode) letter = static_cast<char>(letter + 32);
  node.output(node.add("tenon.tfidf_vectorizer", inputs,
                       {{"mode", mode},
                        {"min_length", node.integer("min_gram_length", 1)},
                        {"max_length", node.integer("max_gram_length", 1)},
                        {"max_skip", node.integer("max_skip_count", 0)},
                        {"outputs", last + 1}}));
}

void dict_vectorizer(NodeImport& node) {
  node.refuse("its input is a map, but Tenon has only tensors");
}

const Composition encoders_read[] = {{"CategoryMapper", category_mapper, 1, ml_domain},
                                     {"DictVectorizer", dict_vectorizer, 1, ml_domain},
                                     {"LabelEncoder", label_encoder_by_position, 1, ml_domain},
                                     {"LabelEncoder", label_encoder, 2, ml_domain},
                                     {"OneHotEncoder", one_hot_encoder, 1, ml_domain},
                                     {"TfIdfVectorizer", tfidf_vectorizer, 9}};

}  // namespace
}  // namespace tenon::onnx

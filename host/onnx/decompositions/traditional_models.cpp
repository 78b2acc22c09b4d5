// Traditional models as nodes of ai.onnx.ml. Their arrays are attributes there, so the inputs that
// hold them must be constants.
#include <algorithm>
#include <cmath>
#include <map>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

std::string upper(std::string text) {
  for (auto& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 32);
  return text;
}

/// Whether the inputs from `first` on that are connected are constants.
bool are_constant(const NodeExport& node, std::size_t first = 1) {
  for (auto i = first; i < node.info().inputs.size(); ++i)
    if (!node.input(i).empty() && !node.elements(i)) return false;
  return true;
}

Tensor elements(const NodeExport& node, std::string_view input) {
  const auto at = node.info().find_input(input);
  return at < 0 ? Tensor() : node.elements(static_cast<std::size_t>(at));
}

template <class T, class To>
std::vector<To> list_of(const Tensor& tensor) {
  std::vector<To> list;
  if (!tensor) return list;
  const auto here = tensor.to("cpu").make_contiguous();
  for (const auto value : here.values<T>()) list.push_back(static_cast<To>(value));
  return list;
}
Integers indices(const NodeExport& node, std::string_view input) {
  return list_of<std::int32_t, std::int64_t>(elements(node, input));
}
Integers integers(const NodeExport& node, std::string_view input) {
  return list_of<std::int64_t, std::int64_t>(elements(node, input));
}
Reals reals(const NodeExport& node, std::string_view input) {
  return list_of<float, double>(elements(node, input));
}

/// Adds a node whose outputs are the operator's.
void add(NodeExport& node, const char* type, NodeExport::Attributes attributes) {
  node.add_node({.type = type,
                 .inputs = {node.input(0)},
                 .outputs = node.node().outputs,
                 .attributes = std::move(attributes),
                 .domain = "ai.onnx.ml",
                 .name = node.node().name},
                3);
}

/// The identity as coefficients: the scores are those of the input.
Reals identity(std::int64_t size) {
  Reals made(static_cast<std::size_t>(size * size));
  for (std::int64_t i = 0; i < size; ++i) made[static_cast<std::size_t>(i * size + i)] = 1;
  return made;
}

constexpr std::int64_t max_identity = 4096;

bool classify_scores(NodeExport& node) {
  const auto& type = node.type(0);
  if (!are_constant(node) || type.rank != 2 || type.dims[1] < 1 || type.dims[1] > max_identity)
    return false;
  const auto count = type.dims[1];
  add(node, "LinearClassifier",
      {{"coefficients", identity(count)},
       {"intercepts", Reals(static_cast<std::size_t>(count))},
       {"classlabels_ints", integers(node, "classes")},
       {"multi_class", std::int64_t{0}},
       {"post_transform", upper(node.text("post_transform"))}});
  return true;
}

bool transform_scores(NodeExport& node) {
  const auto& type = node.type(0);
  if (type.rank != 2 || type.dims[1] < 1 || type.dims[1] > max_identity) return false;
  const auto count = type.dims[1];
  add(node, "LinearRegressor",
      {{"coefficients", identity(count)},
       {"intercepts", Reals(static_cast<std::size_t>(count))},
       {"targets", count},
       {"post_transform", upper(node.text("post_transform"))}});
  return true;
}

bool normalizer(NodeExport& node) {
  if (node.dtype() != f32) return false;
  add(node, "Normalizer", {{"norm", upper(node.text("norm"))}});
  return true;
}

NodeExport::Attributes kernel_of(const NodeExport& node) {
  return {{"kernel_type", upper(node.text("kernel"))},
          {"kernel_params", Reals{node.real("gamma"), node.real("coef0"), node.real("degree")}}};
}

bool svm_regressor(NodeExport& node) {
  if (!are_constant(node)) return false;
  auto attributes = kernel_of(node);
  attributes.insert(attributes.end(), {{"support_vectors", reals(node, "vectors")},
                                       {"coefficients", reals(node, "coefficients")},
                                       {"rho", reals(node, "rho")},
                                       {"n_supports", elements(node, "vectors").shape()[0]},
                                       {"one_class", std::int64_t{node.flag("one_class")}}});
  add(node, "SVMRegressor", std::move(attributes));
  return true;
}

bool svm_classifier(NodeExport& node) {
  if (!are_constant(node)) return false;
  auto attributes = kernel_of(node);
  attributes.insert(attributes.end(), {{"support_vectors", reals(node, "vectors")},
                                       {"coefficients", reals(node, "coefficients")},
                                       {"rho", reals(node, "rho")},
                                       {"vectors_per_class", integers(node, "vectors_per_class")},
                                       {"classlabels_ints", integers(node, "classes")},
                                       {"post_transform", upper(node.text("post_transform"))}});
  if (elements(node, "prob_a"))
    attributes.insert(attributes.end(),
                      {{"prob_a", reals(node, "prob_a")}, {"prob_b", reals(node, "prob_b")}});
  add(node, "SVMClassifier", std::move(attributes));
  return true;
}

// Keys that are NaN, which older versions of LabelEncoder never find, stay in Tenon's domain, and
// so does a lookup that fails for other keys.
bool label_encoder(NodeExport& node) {
  const auto keys = elements(node, "keys"), values = elements(node, "values"),
             otherwise = elements(node, "otherwise");
  if (!keys || !values || !otherwise) return false;
  NodeExport::Attributes attributes;
  const auto put = [&](const char* name, const Tensor& list) {
    const auto text = std::string(name);
    if (list.dtype() == i64)
      attributes.push_back({text + "_int64s", list_of<std::int64_t, std::int64_t>(list)});
    else if (list.dtype() == f32)
      attributes.push_back({text + "_floats", list_of<float, double>(list)});
    return list.dtype() == i64 || list.dtype() == f32;
  };
  if (!put("keys", keys) || !put("values", values)) return false;
  const auto numbers = keys.dtype() == f32 ? list_of<float, double>(keys) : Reals();
  if (std::any_of(numbers.begin(), numbers.end(), [](double key) { return std::isnan(key); }))
    return false;
  if (values.dtype() == i64)
    attributes.push_back({"default_int64", list_of<std::int64_t, std::int64_t>(otherwise)[0]});
  else
    attributes.push_back({"default_float", list_of<float, double>(otherwise)[0]});
  add(node, "LabelEncoder", std::move(attributes));
  return true;
}

bool tfidf_vectorizer(NodeExport& node) {
  const auto columns = integers(node, "columns");
  if (!are_constant(node) || columns.empty() ||
      *std::max_element(columns.begin(), columns.end()) + 1 != node.integer("outputs"))
    return false;
  NodeExport::Attributes attributes{{"mode", upper(node.text("mode"))},
                                    {"min_gram_length", node.integer("min_length")},
                                    {"max_gram_length", node.integer("max_length")},
                                    {"max_skip_count", node.integer("max_skip")},
                                    {"pool_int64s", integers(node, "pool")},
                                    {"ngram_counts", integers(node, "starts")},
                                    {"ngram_indexes", columns}};
  if (const auto weights = reals(node, "weights"); !weights.empty())
    attributes.push_back({"weights", weights});
  node.add_node({.type = "TfIdfVectorizer",
                 .inputs = {node.input(0)},
                 .outputs = node.node().outputs,
                 .attributes = std::move(attributes),
                 .name = node.node().name},
                node.opset());
  return true;
}

/// The trees of a forest of arrays, whose nodes ONNX names by tree and number. Nodes that no root
/// reaches are left out. `kind` begins the attributes of the weights.
class NamedForest {
 public:
  explicit NamedForest(const NodeExport& node)
      : true_child_(indices(node, "true_child")), false_child_(indices(node, "false_child")) {
    tree_.assign(true_child_.size(), -1), id_.resize(true_child_.size());
    std::int64_t tree = 0;
    for (const auto root : indices(node, "root")) is_sound_ = is_sound_ && add_tree(root, tree++);
  }

  /// Whether each node belongs to one tree, and its children exist.
  bool is_sound() const { return is_sound_; }

  NodeExport::Attributes attributes(const NodeExport& node, const std::string& kind) const {
    constexpr const char* names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                     "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const auto feature = indices(node, "feature");
    const auto split = reals(node, "split");
    const auto mode = list_of<std::uint8_t, std::size_t>(elements(node, "mode"));
    const auto missing = list_of<bool, std::int64_t>(elements(node, "missing"));
    Integers trees, ids, features, yes, no, tracks;
    Reals values;
    std::vector<std::string> modes;
    for (const auto i : order_) {
      const bool is_leaf = true_child_[i] < 0;
      trees.push_back(tree_[i]), ids.push_back(id_[i]);
      features.push_back(is_leaf ? 0 : feature[i]);
      values.push_back(is_leaf ? 0 : split[i]);
      modes.emplace_back(is_leaf ? "LEAF" : names[mode.empty() ? 0 : std::min(mode[i], 5UL)]);
      yes.push_back(is_leaf ? 0 : id_[static_cast<std::size_t>(true_child_[i])]);
      no.push_back(is_leaf ? 0 : id_[static_cast<std::size_t>(false_child_[i])]);
      tracks.push_back(missing.empty() || is_leaf ? 0 : missing[i]);
    }
    NodeExport::Attributes made{
        {"nodes_treeids", trees},       {"nodes_nodeids", ids},
        {"nodes_featureids", features}, {"nodes_values", values},
        {"nodes_modes", modes},         {"nodes_truenodeids", yes},
        {"nodes_falsenodeids", no},     {"nodes_missing_value_tracks_true", tracks}};
    add_weights(node, kind, made);
    return made;
  }

 private:
  bool add_tree(std::int64_t root, std::int64_t tree) {
    std::int64_t id = 0;
    std::vector<std::int64_t> left{root};
    while (!left.empty()) {
      const auto at = left.back();
      left.pop_back();
      if (at < 0 || at >= static_cast<std::int64_t>(tree_.size())) return false;
      const auto i = static_cast<std::size_t>(at);
      if (tree_[i] >= 0) return false;  // shared, or a cycle
      tree_[i] = tree, id_[i] = id++;
      order_.push_back(i);
      if ((true_child_[i] < 0) != (false_child_[i] < 0)) return false;
      if (true_child_[i] >= 0) left.insert(left.end(), {false_child_[i], true_child_[i]});
    }
    return true;
  }

  void add_weights(const NodeExport& node, const std::string& kind,
                   NodeExport::Attributes& made) const {
    const auto nodes = indices(node, "weight_node"), targets = indices(node, "weight_target");
    const auto weights = reals(node, "weight");
    Integers trees, ids, of;
    Reals values;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto at = static_cast<std::size_t>(nodes[i]);
      if (at >= tree_.size() || tree_[at] < 0) continue;
      trees.push_back(tree_[at]), ids.push_back(id_[at]);
      of.push_back(targets[i]), values.push_back(weights[i]);
    }
    made.insert(made.end(), {{kind + "_treeids", trees},
                             {kind + "_nodeids", ids},
                             {kind + "_ids", of},
                             {kind + "_weights", values}});
  }

  Integers true_child_, false_child_;
  Integers tree_, id_;              // by node
  std::vector<std::size_t> order_;  // of the nodes, tree by tree
  bool is_sound_ = true;
};

// Attributes are float32, and so are the sums of onnxruntime's operators for float32 only.
bool is_float_forest(const NodeExport& node) {
  return are_constant(node) && node.dtype() == f32;
}

bool tree_ensemble(NodeExport& node) {
  if (!is_float_forest(node)) return false;
  const NamedForest forest(node);
  if (!forest.is_sound()) return false;
  auto attributes = forest.attributes(node, "target");
  attributes.insert(attributes.end(), {{"n_targets", node.integer("targets")},
                                       {"aggregate_function", upper(node.text("aggregate"))},
                                       {"post_transform", upper(node.text("post_transform"))}});
  if (const auto base = reals(node, "base"); !base.empty())
    attributes.push_back({"base_values", base});
  add(node, "TreeEnsembleRegressor", std::move(attributes));
  return true;
}

bool tree_ensemble_classifier(NodeExport& node) {
  if (!is_float_forest(node)) return false;
  const NamedForest forest(node);
  if (!forest.is_sound()) return false;
  auto attributes = forest.attributes(node, "class");
  attributes.insert(attributes.end(), {{"classlabels_int64s", integers(node, "classes")},
                                       {"post_transform", upper(node.text("post_transform"))}});
  if (const auto base = reals(node, "base"); !base.empty())
    attributes.push_back({"base_values", base});
  add(node, "TreeEnsembleClassifier", std::move(attributes));
  return true;
}

const Decomposition traditional_models_written[] = {
    {"tenon.classify_scores", classify_scores},
    {"tenon.label_encoder", label_encoder},
    {"tenon.normalizer", normalizer},
    {"tenon.svm_classifier", svm_classifier},
    {"tenon.svm_regressor", svm_regressor},
    {"tenon.tfidf_vectorizer", tfidf_vectorizer},
    {"tenon.transform_scores", transform_scores},
    {"tenon.tree_ensemble", tree_ensemble},
    {"tenon.tree_ensemble_classifier", tree_ensemble_classifier}};

}  // namespace
}  // namespace tenon::onnx

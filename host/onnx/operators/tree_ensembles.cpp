// ai.onnx.ml: TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor. Their nodes become
// arrays; tenon.tree_ensemble checks that these are trees.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "onnx/operators/traditional_models.hpp"

namespace tenon::onnx {
namespace {

using Integers = List<std::int64_t>;
constexpr std::int64_t max_nodes = (std::int64_t{1} << 31) - 2;
constexpr std::uint8_t equal_mode = 4, member_mode = 6, leaf_mode = 7;

const Integers& required(NodeImport& node, const char* name, std::size_t size) {
  const auto* list = integers_of(node, name);
  node.require(list != nullptr && list->size() == size,
               fmt::format("its attribute '{}' has {} numbers, but needs {}", name,
                           list == nullptr ? 0 : list->size(), size));
  return *list;
}

/// The arrays of tenon.tree_ensemble.
struct Forest {
  std::vector<std::int32_t> feature, true_child, false_child, root, weight_node, weight_target;
  std::vector<std::uint8_t> mode;
  std::vector<std::uint8_t> missing;
  Tensor split, weight;

  // Messages are formatted for errors only: files may have millions of nodes.
  static std::int32_t index(NodeImport& node, const char* what, std::int64_t value) {
    if (value < 0 || value > max_nodes)
      node.refuse(fmt::format("its {} {} is out of range", what, value));
    return static_cast<std::int32_t>(value);
  }

  Importer::Named inputs(NodeImport& node, const Operand& x) const {
    const auto constant = [&](const auto& list) {
      return node.constant(Tensor::from(list, {static_cast<std::int64_t>(list.size())}));
    };
    Importer::Named made{{"x", x},
                         {"feature", constant(feature)},
                         {"split", node.constant(split)},
                         {"true_child", constant(true_child)},
                         {"false_child", constant(false_child)},
                         {"root", constant(root)},
                         {"weight_node", constant(weight_node)},
                         {"weight_target", constant(weight_target)},
                         {"weight", node.constant(weight)}};
    const auto is_set = [](std::uint8_t value) { return value != 0; };
    if (std::any_of(mode.begin(), mode.end(), is_set)) made.emplace_back("mode", constant(mode));
    if (std::any_of(missing.begin(), missing.end(), is_set)) {
      auto flags = Tensor::empty(boolean, {static_cast<std::int64_t>(missing.size())});
      std::transform(missing.begin(), missing.end(), static_cast<bool*>(flags.data()), is_set);
      made.emplace_back("missing", node.constant(flags));
    }
    return made;
  }
};

/// Finds nodes by the number of their tree and their own, as the older operators name them. The
/// nodes of a tree are contiguous. Not by hash: a file could choose numbers that collide.
class NodeNames {
 public:
  NodeNames(NodeImport& node, const Integers& trees, const Integers& ids) : node_(node), ids_(ids) {
    const auto count = static_cast<std::int64_t>(trees.size());
    for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
      const auto tree = trees[begin];
      while (end < count && trees[end] == tree) ++end;
      node.require(trees_.emplace(tree, Tree{begin, end - begin}).second,
                   fmt::format("the nodes of its tree {} are not contiguous", tree));
      starts.push_back(static_cast<std::int32_t>(begin));
      if (!in_order(begin, end)) add_all(trees_[tree]);
    }
  }

  std::int32_t find(std::int64_t tree, std::int64_t id) const {
    const auto found = trees_.find(tree);
    if (found == trees_.end()) node_.refuse(fmt::format("it has no tree {}", tree));
    const auto& at = found->second;
    if (at.by_id.empty() && id >= 0 && id < at.count)
      return static_cast<std::int32_t>(at.begin + id);
    const auto one =
        std::lower_bound(at.by_id.begin(), at.by_id.end(), id,
                         [&](std::int32_t i, std::int64_t wanted) { return ids_[i] < wanted; });
    if (one == at.by_id.end() || ids_[*one] != id)
      node_.refuse(fmt::format("its tree {} has no node {}", tree, id));
    return *one;
  }

  std::vector<std::int32_t> starts{};

 private:
  struct Tree {
    std::int64_t begin, count;
    std::vector<std::int32_t> by_id{};  // in the order of their ids; empty: numbered in order
  };

  bool in_order(std::int64_t begin, std::int64_t end) const {
    for (auto i = begin; i < end; ++i)
      if (ids_[i] != i - begin) return false;
    return true;
  }
  void add_all(Tree& tree) {
    auto& sorted = tree.by_id;
    sorted.resize(static_cast<std::size_t>(tree.count));
    std::iota(sorted.begin(), sorted.end(), static_cast<std::int32_t>(tree.begin));
    std::sort(sorted.begin(), sorted.end(),
              [&](std::int32_t one, std::int32_t other) { return ids_[one] < ids_[other]; });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (ids_[sorted[i]] == ids_[sorted[i - 1]])
        node_.refuse(fmt::format("a tree has two nodes {}", ids_[sorted[i]]));
  }

  NodeImport& node_;
  const Integers& ids_;
  std::map<std::int64_t, Tree> trees_;
};

std::uint8_t mode_of(NodeImport& node, std::string_view name) {
  constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (name == "LEAF") return leaf_mode;
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) node.refuse(fmt::format("its node mode '{}' is unknown", name));
  return static_cast<std::uint8_t>(found - std::begin(names));
}

/// The attributes of a classifier or regressor; `kind` begins those of its weights.
Forest named_forest(NodeImport& node, const std::string& kind, DType dtype) {
  const auto* const trees = integers_of(node, "nodes_treeids");
  node.require(
      trees != nullptr && !trees->empty() && trees->size() <= static_cast<std::size_t>(max_nodes),
      "it has no nodes_treeids, or too many");
  const auto count = trees->size();
  const auto list = [&](const char* name) -> const Integers& {
    return required(node, name, count);
  };
  const auto &ids = list("nodes_nodeids"), &features = list("nodes_featureids"),
             &yes = list("nodes_truenodeids"), &no = list("nodes_falsenodeids");
  const auto* missing = integers_of(node, "nodes_missing_value_tracks_true");
  node.require(missing == nullptr || missing->empty() || missing->size() == count,
               "its nodes_missing_value_tracks_true has the wrong size");
  node.ignore("nodes_hitrates"), node.ignore("nodes_hitrates_as_tensor");
  const auto* modes_attribute = node.attribute("nodes_modes");
  const auto* modes = modes_attribute == nullptr
                          ? nullptr
                          : std::get_if<List<std::string_view>>(&modes_attribute->value);
  node.require(modes != nullptr && modes->size() == count,
               "its attribute 'nodes_modes' is not a mode for each node");

  Forest made;
  made.split = numbers_of(node, "nodes_values", dtype);
  node.require(made.split && made.split.size() == static_cast<std::int64_t>(count),
               "its attribute 'nodes_values' is not a number for each node");
  const NodeNames names(node, *trees, ids);
  made.root = names.starts;
  made.feature.resize(count), made.true_child.resize(count), made.false_child.resize(count);
  made.mode.resize(count), made.missing.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto mode = mode_of(node, modes->begin()[i]);
    if (mode == leaf_mode) {
      made.true_child[i] = made.false_child[i] = -1;
      continue;
    }
    made.mode[i] = mode;
    made.feature[i] = Forest::index(node, "feature", features[i]);
    made.true_child[i] = names.find(trees->begin()[i], yes[i]);
    made.false_child[i] = names.find(trees->begin()[i], no[i]);
    made.missing[i] = missing != nullptr && !missing->empty() && missing->begin()[i] == 1;
  }

  made.weight = numbers_of(node, kind + "_weights", dtype);
  if (!made.weight) made.weight = Tensor::empty(dtype, {0});
  const auto weights = static_cast<std::size_t>(made.weight.size());
  node.require(made.weight.size() <= max_nodes, "it has too many weights");
  const auto of_weights = [&](const char* name) -> const Integers& {
    return required(node, (kind + name).c_str(), weights);
  };
  const auto &targets = of_weights("_ids"), &weight_trees = of_weights("_treeids"),
             &weight_nodes = of_weights("_nodeids");
  made.weight_node.resize(weights), made.weight_target.resize(weights);
  for (std::size_t i = 0; i < weights; ++i) {
    made.weight_target[i] = Forest::index(node, "target", targets[i]);
    made.weight_node[i] = names.find(weight_trees[i], weight_nodes[i]);
  }
  return made;
}

DType number_type(NodeImport& node, const Operand& x) {
  return node.dtype(x) == f64 ? f64 : f32;
}

void tree_regressor(NodeImport& node) {
  const auto x = rows_of(node, true);
  const auto dtype = number_type(node, x);
  const auto forest = named_forest(node, "target", dtype);
  auto inputs = forest.inputs(node, x);
  const auto targets = node.integer("n_targets", 1);
  if (const auto base = numbers_of(node, "base_values", dtype); base && base.size() > 0) {
    node.require(base.size() == targets,
                 fmt::format("it has {} base_values for {} targets", base.size(), targets));
    inputs.emplace_back("base", node.constant(base));
  }
  auto aggregate = node.text("aggregate_function", "SUM");
  std::transform(aggregate.begin(), aggregate.end(), aggregate.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  node.output(node.cast(
      node.add(
          "tenon.tree_ensemble", inputs,
          {{"targets", targets}, {"aggregate", aggregate}, {"post_transform", transform_of(node)}}),
      f32));
}

void tree_classifier(NodeImport& node) {
  const ClassLabels labels(node, "classlabels_int64s");
  const auto x = rows_of(node, true);
  const auto dtype = number_type(node, x);
  const auto forest = named_forest(node, "class", dtype);
  auto inputs = forest.inputs(node, x);
  inputs.emplace_back("classes", node.constant(labels.elements()));
  if (const auto base = numbers_of(node, "base_values", dtype); base && base.size() > 0)
    inputs.emplace_back("base", node.constant(base));
  const auto made = node.importer().call("tenon.tree_ensemble_classifier", inputs,
                                         {{"post_transform", transform_of(node)}}, node.name());
  labels.output(node, made[0]);
  node.output(1, node.cast(made[1], f32));
}

/// Replaces nodes that test for members of a set by chains of nodes that test for one.
template <class T>
void expand_members(NodeImport& node, Forest& forest, const Tensor& members, std::size_t branches) {
  const auto splits = forest.split.values<T>();
  std::vector<T> split(splits.begin(), splits.end());
  const auto all = members ? members.values<T>() : std::span<const T>();
  std::size_t at = 0;
  for (std::size_t i = 0; i < branches; ++i) {
    if (forest.mode[i] != member_mode) continue;
    auto last = i;
    const auto otherwise = forest.false_child[i];
    forest.mode[i] = equal_mode;
    split[i] = std::numeric_limits<T>::quiet_NaN();  // an empty set has no members
    for (bool is_first = true; at < all.size() && !std::isnan(all[at]); ++at, is_first = false) {
      if (!is_first) {
        node.require(split.size() < static_cast<std::size_t>(max_nodes), "it has too many members");
        forest.false_child[last] = static_cast<std::int32_t>(split.size());
        last = split.size();
        split.push_back(0);
        forest.mode.push_back(equal_mode);
        forest.missing.push_back(0);
        forest.feature.push_back(forest.feature[i]);
        forest.true_child.push_back(forest.true_child[i]);
        forest.false_child.push_back(otherwise);
      }
      split[last] = all[at];
    }
    ++at;  // the NaN that ends the set
  }
  forest.split = Tensor::from(split, {static_cast<std::int64_t>(split.size())});
}

/// Since version 5: branches and leaves are separate lists.
Forest forest_of(NodeImport& node, DType dtype) {
  const auto numbers = [&](const char* name) {
    const auto found = node.tensor(name);
    node.require(!found || (found.dtype() == dtype && found.shape().rank() == 1),
                 fmt::format("its attribute '{}' is not a list of {}, the type of its input", name,
                             name_of(dtype)));
    return found;
  };
  const auto splits = numbers("nodes_splits"), members = numbers("membership_values");
  const auto modes = node.tensor("nodes_modes");
  Forest made;
  made.weight = numbers("leaf_weights");
  node.ignore("nodes_hitrates");
  node.require(splits && made.weight && modes && modes.dtype() == u8 &&
                   modes.size() == splits.size() && splits.size() + made.weight.size() <= max_nodes,
               "its nodes_splits, nodes_modes or leaf_weights are missing or of different sizes");
  const auto branches = static_cast<std::size_t>(splits.size()),
             leaves = static_cast<std::size_t>(made.weight.size());
  const auto list = [&](const char* name) -> const Integers& {
    return required(node, name, branches);
  };
  const auto &features = list("nodes_featureids"), &yes = list("nodes_truenodeids"),
             &no = list("nodes_falsenodeids"), &yes_leaf = list("nodes_trueleafs"),
             &no_leaf = list("nodes_falseleafs");
  const auto* missing = integers_of(node, "nodes_missing_value_tracks_true");
  node.require(missing == nullptr || missing->empty() || missing->size() == branches,
               "its nodes_missing_value_tracks_true has the wrong size");
  const auto child = [&](std::int64_t id, std::int64_t is_leaf) {
    const auto limit = is_leaf != 0 ? leaves : branches;
    if (id < 0 || id >= static_cast<std::int64_t>(limit))
      node.refuse(fmt::format("its {} {} does not exist", is_leaf != 0 ? "leaf" : "node", id));
    return static_cast<std::int32_t>(id + (is_leaf != 0 ? splits.size() : 0));
  };
  const auto mode = modes.values<std::uint8_t>();
  for (std::size_t i = 0; i < branches; ++i) {
    if (mode[i] > member_mode) node.refuse(fmt::format("its node mode {} is unknown", mode[i]));
    made.mode.push_back(mode[i]);
    made.feature.push_back(Forest::index(node, "feature", features[i]));
    made.true_child.push_back(child(yes[i], yes_leaf[i]));
    made.false_child.push_back(child(no[i], no_leaf[i]));
    made.missing.push_back(missing != nullptr && !missing->empty() && missing->begin()[i] == 1);
  }
  const auto& targets = required(node, "leaf_targetids", leaves);
  for (std::size_t i = 0; i < leaves; ++i) {
    made.mode.push_back(0), made.feature.push_back(0), made.missing.push_back(0);
    made.true_child.push_back(-1), made.false_child.push_back(-1);
    made.weight_node.push_back(static_cast<std::int32_t>(branches + i));
    made.weight_target.push_back(Forest::index(node, "target", targets[i]));
  }
  const auto* roots = integers_of(node, "tree_roots");
  node.require(roots != nullptr, "it has no tree_roots");
  for (const auto root : *roots) made.root.push_back(child(root, 0));
  const auto padded = [&]<class T>() {
    auto all = Tensor::empty(dtype, {splits.size() + made.weight.size()});
    auto* const to = static_cast<T*>(all.data());
    std::fill(to, to + all.size(), T(0));
    std::copy_n(splits.values<T>().data(), branches, to);
    made.split = all;
    expand_members<T>(node, made, members, branches);
  };
  dtype == f64 ? padded.template operator()<double>() : padded.template operator()<float>();
  return made;
}

void tree_ensemble(NodeImport& node) {
  constexpr const char* aggregates[] = {"average", "sum", "min", "max"};
  // onnxruntime exchanges the standard's numbers of softmax and logistic
  constexpr const char* transforms[] = {"none", "logistic", "softmax", "softmax_zero", "probit"};
  const auto x = rows_of(node, true);
  const auto forest = forest_of(node, number_type(node, x));
  const auto aggregate = node.integer("aggregate_function", 1),
             transform = node.integer("post_transform", 0);
  node.require(aggregate >= 0 && aggregate < 4 && transform >= 0 && transform < 5,
               fmt::format("its aggregate_function {} or post_transform {} is unknown", aggregate,
                           transform));
  node.output(node.add("tenon.tree_ensemble", forest.inputs(node, x),
                       {{"targets", node.integer("n_targets", 1)},
                        {"aggregate", aggregates[aggregate]},
                        {"post_transform", transforms[transform]}}));
}

const Composition trees_read[] = {{"TreeEnsemble", tree_ensemble, 5, ml_domain},
                                  {"TreeEnsembleClassifier", tree_classifier, 1, ml_domain},
                                  {"TreeEnsembleRegressor", tree_regressor, 1, ml_domain}};

}  // namespace
}  // namespace tenon::onnx

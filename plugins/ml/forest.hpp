// A forest in the form in which it is evaluated: every comparison is `<=` or `==`, and the children
// of a node are neighbours, as are the weights of a leaf. Built from the inputs of a tree ensemble,
// all of which may come from a hostile file.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/operator.hpp>
#include <vector>

/// How a node compares its feature with its split; the numbers of ONNX's TreeEnsemble.
enum class SplitMode : std::uint8_t { leq, lt, gte, gt, eq, neq };

/// The arrays that describe a forest; null if they are not connected.
template <class T>
struct ForestArrays {
  std::int64_t nodes, trees, weights;
  const std::int32_t *feature, *true_child, *false_child, *root, *weight_node, *weight_target;
  const T *split, *weight;
  const std::uint8_t* mode;
  const bool* missing_is_true;
};

/// A branch continues with node `child`, or with the next one if its condition holds. A leaf is its
/// own child and its condition never holds, so that paths of different lengths can advance in
/// lockstep.
template <class T>
struct TreeNode {
  static constexpr std::uint32_t is_equality = 1u << 31, nan_holds = 1u << 30,
                                 features = nan_holds;  ///< more than any index of a feature
  T split;
  std::uint32_t feature;  ///< index, and the two flags
  std::int32_t child;
  union {               // of a leaf
    T weight;           ///< if there is a single target
    std::int32_t leaf;  ///< else its index in the arrays
  };
};

template <class T>
struct LeafWeight {
  std::int32_t target;
  T value;
};

/// A built forest in one block of memory, whose size depends on the sizes of the arrays only.
template <class T>
class Forest {
  using Node = TreeNode<T>;
  using Weight = LeafWeight<T>;
  struct Header {
    std::int64_t nodes, trees, weights, min_features;
    bool has_equality, has_nan, is_positive, has_one_target;
  };

 public:
  static std::size_t bytes(std::int64_t nodes, std::int64_t trees, std::int64_t weights) {
    const auto n = static_cast<std::size_t>(nodes), roots = static_cast<std::size_t>(trees);
    return header_size + (2 * n + roots) * sizeof(Node) +
           static_cast<std::size_t>(weights) * sizeof(Weight) +
           (n + 1 + roots) * sizeof(std::int32_t);
  }

  /// Uses memory that build() has filled.
  explicit Forest(const void* memory) : memory_(static_cast<const std::byte*>(memory)) {}

  /// `targets`: number of targets, which bounds the weights' targets. Throws Error for arrays that
  /// do not describe trees.
  static void build(const ForestArrays<T>& arrays, std::int64_t targets, void* memory) {
    new (memory) Header{arrays.nodes, arrays.trees, arrays.weights, 1, false, false, true, false};
    Forest made(memory);
    check_nodes(arrays);
    require_acyclic(arrays);
    made.add_weights(arrays, targets);
    made.add_trees(arrays, targets == 1);
  }

  std::int64_t trees() const { return header().trees; }
  /// Branches and leaves of the arrays.
  std::int64_t nodes() const { return header().nodes; }
  /// The number of features that rows need.
  std::int64_t min_features() const { return header().min_features; }
  bool has_equality() const { return header().has_equality; }
  bool has_nan() const { return header().has_nan; }
  /// Whether no weight is negative.
  bool is_positive() const { return header().is_positive; }
  /// Whether all weights belong to the same target.
  bool has_one_target() const { return header().has_one_target; }
  /// Node i is the root of tree i.
  const Node* node() const { return reinterpret_cast<const Node*>(memory_ + header_size); }
  const Weight* weight() const {
    return reinterpret_cast<const Weight*>(node() + 2 * nodes() + trees());
  }
  /// Index of the first weight of each leaf of the arrays; the last entry is their number.
  const std::int32_t* first_weight() const {
    return reinterpret_cast<const std::int32_t*>(weight() + header().weights);
  }
  /// Number of steps in each tree that most rows take: between those to the nearest leaf and to an
  /// average one.
  const std::int32_t* steps() const { return first_weight() + nodes() + 1; }

 private:
  static constexpr std::size_t header_size = 64;
  static_assert(sizeof(Header) <= header_size);

  const Header& header() const { return *reinterpret_cast<const Header*>(memory_); }
  // Only build() writes, to memory that it received as writable.
  template <class U>
  static U* writable(const U* pointer) {
    return const_cast<U*>(pointer);
  }
  Header& own() { return *writable(&header()); }
  static bool is_leaf(const ForestArrays<T>& arrays, std::int32_t node) {
    return arrays.true_child[node] < 0;
  }

  static void check_nodes(const ForestArrays<T>& arrays) {
    const auto in_range = [&](std::int32_t child) { return child >= 0 && child < arrays.nodes; };
    std::int64_t places = arrays.trees;
    for (std::int64_t i = 0; i < arrays.nodes; ++i) {
      const auto yes = arrays.true_child[i], no = arrays.false_child[i],
                 feature = arrays.feature[i];
      if (yes < 0 && no < 0) continue;
      places += 2;
      if (!in_range(yes) || !in_range(no))
        throw tenon::Error("node ", i, " has the children ", yes, " and ", no, ", but there are ",
                           arrays.nodes, " nodes; a leaf has the children -1 and -1");
      if (feature < 0 || static_cast<std::uint32_t>(feature) >= Node::features)
        throw tenon::Error("node ", i, " tests feature ", feature,
                           ": needs an index from 0 to 2^30 - 1");
      if (arrays.mode && arrays.mode[i] > static_cast<std::uint8_t>(SplitMode::neq))
        throw tenon::Error("node ", i, " has mode ", int{arrays.mode[i]}, ": needs 0 to 5");
    }
    if (places > std::numeric_limits<std::int32_t>::max())
      throw tenon::Error("there are ", arrays.trees, " trees and ", (places - arrays.trees) / 2,
                         " branches: trees + 2 * branches must be less than 2^31");
    for (std::int64_t tree = 0; tree < arrays.trees; ++tree)
      if (!in_range(arrays.root[tree]))
        throw tenon::Error("the root of tree ", tree, " is node ", arrays.root[tree],
                           ", but there are ", arrays.nodes, " nodes");
  }

  // Writes tree by tree, level by level. A node that is shared is copied, with the place of its
  // children, which are written once.
  void add_trees(const ForestArrays<T>& arrays, bool has_one_weight) {
    auto* const nodes = writable(node());
    std::vector<std::int32_t> children(static_cast<std::size_t>(arrays.nodes), -1), level, below;
    auto end = static_cast<std::int32_t>(arrays.trees);
    for (std::int32_t tree = 0; tree < arrays.trees; ++tree) {
      std::int64_t depth = -1, nearest = 0, leaves = 0, total = 0;
      const auto place = [&](std::int32_t from, std::int32_t at) {
        Node& node = nodes[at];
        if (is_leaf(arrays, from)) {
          write_leaf(node, from, at, has_one_weight);
          if (leaves++ == 0) nearest = depth + 1;
          total += depth + 1;
          return;
        }
        auto& pair = children[static_cast<std::size_t>(from)];
        if (pair < 0) pair = end, end += 2, below.push_back(from);
        node = {arrays.split[from], static_cast<std::uint32_t>(arrays.feature[from]), pair, {T(0)}};
        if (arrays.feature[from] >= header().min_features)
          own().min_features = std::int64_t{arrays.feature[from]} + 1;
        set_condition(node, mode_of(arrays, from),
                      arrays.missing_is_true && arrays.missing_is_true[from]);
      };
      place(arrays.root[tree], tree);
      for (depth = 0; !below.empty(); ++depth) {
        level.swap(below);
        below.clear();
        for (const auto from : level) {
          auto first = arrays.false_child[from], second = arrays.true_child[from];
          if (is_swapped(arrays, from)) std::swap(first, second);
          const auto pair = children[static_cast<std::size_t>(from)];
          place(first, pair);
          place(second, pair + 1);
        }
      }
      if (leaves == 0) leaves = 1;  // all are shared with other trees
      writable(steps())[tree] = static_cast<std::int32_t>((nearest + total / leaves) / 2);
    }
  }

  void write_leaf(Node& node, std::int32_t from, std::int32_t at, bool has_one_weight) const {
    node = {std::numeric_limits<T>::quiet_NaN(), 0, at, {T(0)}};
    const auto first = first_weight()[from];
    if (!has_one_weight)
      node.leaf = from;
    else if (first_weight()[from + 1] > first)
      node.weight = weight()[first].value;
  }

  static SplitMode mode_of(const ForestArrays<T>& arrays, std::int32_t node) {
    return arrays.mode ? static_cast<SplitMode>(arrays.mode[node]) : SplitMode::leq;
  }
  /// Whether a node is the opposite of x <= s or x == s. A NaN split never holds.
  static bool is_swapped(const ForestArrays<T>& arrays, std::int32_t node) {
    const auto mode = mode_of(arrays, node);
    if (mode == SplitMode::neq) return true;
    return (mode == SplitMode::gt || mode == SplitMode::gte) &&
           arrays.split[node] == arrays.split[node];
  }

  // Expresses x < s as x <= the number below s. NaN follows its own flag.
  void set_condition(Node& node, SplitMode mode, bool missing_is_true) {
    const T never = std::numeric_limits<T>::quiet_NaN(), low = -std::numeric_limits<T>::infinity();
    const bool is_number = node.split == node.split;
    bool nan_holds = missing_is_true;
    if (mode == SplitMode::lt || mode == SplitMode::gte)
      node.split = node.split == low ? never : std::nextafter(node.split, low);
    if ((mode == SplitMode::gt || mode == SplitMode::gte) && is_number) nan_holds = !nan_holds;
    if (mode == SplitMode::neq) nan_holds = false;  // NaN differs from all numbers
    if (nan_holds) node.feature |= Node::nan_holds, own().has_nan = true;
    if (mode == SplitMode::eq || mode == SplitMode::neq)
      node.feature |= Node::is_equality, own().has_equality = true;
  }

  /// Branches may share children, as in chains of == with one result, but a path must end.
  static void require_acyclic(const ForestArrays<T>& arrays) {
    bool ordered = true;  // children after their parents, as most programs write them
    for (std::int64_t i = 0; i < arrays.nodes && ordered; ++i)
      ordered = arrays.true_child[i] < 0 || (arrays.true_child[i] > i && arrays.false_child[i] > i);
    if (ordered) return;
    enum State : std::uint8_t { unseen, on_path, done };
    std::vector<State> state(static_cast<std::size_t>(arrays.nodes), unseen);
    std::vector<std::int32_t> path;
    for (std::int64_t i = 0; i < arrays.nodes; ++i) {
      path.push_back(static_cast<std::int32_t>(i));
      while (!path.empty()) {
        const auto at = path.back();
        auto& mark = state[static_cast<std::size_t>(at)];
        const bool is_new = mark == unseen && arrays.true_child[at] >= 0;
        if (!is_new) mark = done, path.pop_back();
        if (!is_new) continue;
        mark = on_path;
        for (const auto child : {arrays.true_child[at], arrays.false_child[at]}) {
          const auto seen = state[static_cast<std::size_t>(child)];
          if (seen == on_path)
            throw tenon::Error("node ", at, " has the child ", child,
                               ", from which it is reached itself: needs trees without cycles");
          if (seen == unseen) path.push_back(child);
        }
      }
    }
  }

  // Sorts the weights by leaf. Weights of branches are ignored, as in onnxruntime.
  void add_weights(const ForestArrays<T>& arrays, std::int64_t targets) {
    auto* const first = writable(first_weight());
    std::memset(first, 0, static_cast<std::size_t>(nodes() + 1) * sizeof *first);
    std::int32_t only_target = -1;
    bool has_one = arrays.weights > 0;
    for (std::int64_t i = 0; i < arrays.weights; ++i) {
      const auto node = arrays.weight_node[i], target = arrays.weight_target[i];
      if (node < 0 || node >= nodes())
        throw tenon::Error("weight ", i, " belongs to node ", node, ", but there are ", nodes(),
                           " nodes");
      if (target < 0 || target >= targets)
        throw tenon::Error("weight ", i, " belongs to target ", target, ", but there are ", targets,
                           " targets");
      if (only_target < 0) only_target = target;
      has_one = has_one && target == only_target;
      if (arrays.weight[i] < 0) own().is_positive = false;
      if (is_leaf(arrays, node)) ++first[node + 1];
    }
    own().has_one_target = has_one;
    for (std::int64_t i = 0; i < nodes(); ++i) first[i + 1] += first[i];
    auto* const weights = writable(weight());
    // first[node] moves to the end of the node's range, and back below
    for (std::int64_t i = 0; i < arrays.weights; ++i) {
      const auto node = arrays.weight_node[i];
      if (is_leaf(arrays, node))
        weights[first[node]++] = {arrays.weight_target[i], arrays.weight[i]};
    }
    for (std::int64_t i = nodes(); i > 0; --i) first[i] = first[i - 1];
    first[0] = 0;
  }

  const std::byte* memory_;
};

// Tree ensembles, compared with a recursive walk over the arrays in double, and label_encoder and
// svm operators with closed forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <tenon/host/graph.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/session.hpp>

#include "built.hpp"
#include "failure_of.hpp"
#include "numbers.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

using namespace plugin_tests;

namespace {

using Indices = std::vector<std::int32_t>;

/// Arrays of an ensemble in the order of the operator's inputs.
struct Ensemble {
  std::int64_t features = 3, targets = 1;
  Indices feature{}, true_child{}, false_child{}, root{}, weight_node{}, weight_target{};
  Doubles split{}, weight{};
  std::vector<std::uint8_t> mode{};
  std::vector<bool> missing{};

  std::int32_t add(std::int32_t tested, double limit, std::uint8_t how, bool nan_is_true) {
    feature.push_back(tested), split.push_back(limit), mode.push_back(how);
    missing.push_back(nan_is_true), true_child.push_back(-1), false_child.push_back(-1);
    return static_cast<std::int32_t>(split.size()) - 1;
  }
  std::int32_t leaf(std::int32_t target, double value) {
    const auto made = add(0, 0, 0, false);
    weight_node.push_back(made), weight_target.push_back(target), weight.push_back(value);
    return made;
  }

  std::vector<Tensor> tensors(DType dtype) const {
    const auto list = [](const Indices& numbers) {
      return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
    };
    const auto reals = [&](const Doubles& numbers) {
      return tensor(dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
    };
    auto flags = Tensor::empty(tenon::boolean, {static_cast<std::int64_t>(missing.size())});
    std::copy(missing.begin(), missing.end(), static_cast<bool*>(flags.data()));
    return {list(feature),
            reals(split),
            list(true_child),
            list(false_child),
            list(root),
            list(weight_node),
            list(weight_target),
            reals(weight),
            Tensor::from(mode, {static_cast<std::int64_t>(mode.size())}),
            flags};
  }

  bool holds(std::size_t node, double x) const {
    if (std::isnan(x) && missing[node]) return true;
    const auto limit = split[node];
    const bool answers[] = {x <= limit, x<limit, x >= limit, x> limit, x == limit, x != limit};
    return answers[mode[node]];
  }
  std::int32_t leaf_of(std::int32_t node, const double* row) const {
    const auto at = static_cast<std::size_t>(node);
    if (true_child[at] < 0) return node;
    const bool yes = holds(at, row[feature[at]]);
    return leaf_of((yes ? true_child : false_child)[at], row);
  }
  /// Weights that the row's leaves have for a target, in the order of the trees.
  Doubles reached(const double* row, std::int32_t target) const {
    Doubles found;
    for (const auto start : root) {
      const auto leaf = leaf_of(start, row);
      for (std::size_t i = 0; i < weight.size(); ++i)
        if (weight_node[i] == leaf && weight_target[i] == target) found.push_back(weight[i]);
    }
    return found;
  }
};

/// Numbers that are equal to some splits, NaN and infinities.
double drawn(std::mt19937& random) {
  const auto kind = random() % 16;
  if (kind == 0) return nan_value;
  if (kind == 1) return random() % 2 ? inf : -inf;
  return static_cast<double>(random() % 9) / 4 - 1;
}

std::int32_t grow(Ensemble& into, std::mt19937& random, int depth, bool only_leq) {
  if (depth == 0 || random() % 5 == 0)
    return into.leaf(static_cast<std::int32_t>(random() % static_cast<unsigned>(into.targets)),
                     static_cast<double>(random() % 64) / 8 - 3);
  auto limit = drawn(random);
  if (only_leq && std::isnan(limit)) limit = 0;
  const auto node = into.add(static_cast<std::int32_t>(random() % 3), limit,
                             only_leq ? std::uint8_t{0} : static_cast<std::uint8_t>(random() % 6),
                             !only_leq && random() % 3 == 0);
  const auto no = grow(into, random, depth - 1, only_leq),
             yes = grow(into, random, depth - 1, only_leq);
  into.false_child[static_cast<std::size_t>(node)] = no;
  into.true_child[static_cast<std::size_t>(node)] = yes;
  return node;
}

Ensemble forest(unsigned seed, std::int64_t targets, int trees, int depth, bool only_leq) {
  std::mt19937 random(seed);
  Ensemble made;
  made.targets = targets;
  for (int i = 0; i < trees; ++i) {
    const auto root = grow(made, random, depth, only_leq);
    made.root.push_back(root);
  }
  return made;
}

Tensor rows(DType dtype, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Doubles numbers(static_cast<std::size_t>(3 * count));
  for (auto& number : numbers) number = drawn(random);
  return tensor(dtype, {count, 3}, numbers);
}

double aggregated(const std::string& how, const Doubles& weights, std::size_t trees) {
  if (weights.empty()) return 0;
  if (how == "min") return *std::min_element(weights.begin(), weights.end());
  if (how == "max") return *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const auto one : weights) sum += one;
  return how == "average" ? sum / static_cast<double>(trees) : sum;
}

std::vector<Tensor> with(const Tensor& x, const std::vector<Tensor>& arrays) {
  std::vector<Tensor> all{x};
  all.insert(all.end(), arrays.begin(), arrays.end());
  return all;
}

}  // namespace

TEST_CASE("tree_ensemble: every comparison, aggregate and size of the batch") {
  unsigned seed = 0;
  for (const DType dtype : {tenon::f32, tenon::f64})
    for (const std::string how : {"sum", "average", "min", "max"})
      for (const std::int64_t targets : {1, 3})
        for (const bool only_leq : {true, false})
          for (const std::int64_t count : {0, 1, 7, 9, 700}) {
            INFO(name(dtype), " ", how, ", ", targets, " targets, ", count, " rows");
            const auto ensemble = forest(++seed, targets, 11, 6, only_leq);
            const auto x = rows(dtype, count, seed);
            const auto found = host().call("tree_ensemble", with(x, ensemble.tensors(dtype)),
                                           {{"targets", targets}, {"aggregate", how}});
            CHECK(found.shape() == Shape{count, targets});
            const auto numbers = doubles(x), scores = doubles(found);
            for (std::int64_t row = 0; row < count; ++row)
              for (std::int32_t target = 0; target < targets; ++target)
                CHECK(
                    scores[static_cast<std::size_t>(row * targets + target)] ==
                    doctest::Approx(aggregated(
                        how, ensemble.reached(&numbers[static_cast<std::size_t>(3 * row)], target),
                        ensemble.root.size())));
          }
}

TEST_CASE("tree_ensemble: built forests have the bits of arrays that may change") {
  TemporaryFolder cache;
  for (const int threads : {1, 3}) {
    auto options = plugin_options(cache);
    options.threads = threads;
    tenon::Host own(options);
    own.add_plugins(built("plugins"));
    // two forests that differ in their weights only, so that they share the other arrays
    const auto ensemble = forest(5, 2, 40, 8, false);
    auto other = ensemble;
    std::reverse(other.weight.begin(), other.weight.end());
    const auto x = rows(tenon::f32, 300, 8);
    tenon::Graph graph(own);
    std::vector<tenon::Value> inputs{graph.input("x", tenon::f32, x.shape())};
    for (const auto& array : ensemble.tensors(tenon::f32))
      inputs.push_back(graph.constant("c" + std::to_string(inputs.size()), array));
    graph.output("y", graph.add("tree_ensemble", inputs, {{"targets", 2}}));
    inputs[8] = graph.constant("other", other.tensors(tenon::f32)[7]);
    graph.output("z", graph.add("tree_ensemble", inputs, {{"targets", 2}}));
    tenon::Session session(graph);
    CHECK(session.plan({{"x", x.shape()}}).packed_bytes() > 0);
    const auto found = session.run({{"x", x}});
    const auto call = [&](const Ensemble& one) {
      return own.call("tree_ensemble", with(x, one.tensors(tenon::f32)), {{"targets", 2}});
    };
    CHECK(same_bits(found.at("y"), call(ensemble)));
    CHECK(same_bits(found.at("z"), call(other)));
  }
}

TEST_CASE("tree_ensemble: writes to any array show, although plans share the forest") {
  const auto ensemble = forest(5, 1, 3, 4, false);
  const auto arrays = ensemble.tensors(tenon::f32);
  tenon::Graph graph(host());
  std::vector<tenon::Value> inputs{graph.input("x", tenon::f32, {-1, 3})};
  for (const auto& array : arrays)
    inputs.push_back(graph.variable("c" + std::to_string(inputs.size()), array.clone()));
  graph.output("y", graph.add("tree_ensemble", inputs));
  tenon::Session session(graph);
  const auto few = rows(tenon::f32, 2, 1), many = rows(tenon::f32, 9, 1);
  for (const auto& x : {few, many})
    CHECK(same_bits(session.run({{"x", x}}).at("y"),
                    host().call("tree_ensemble", with(x, arrays), {})));
  auto other = ensemble;
  for (auto& weight : other.weight) weight += 1;
  const auto written = other.tensors(tenon::f32);
  std::memcpy(graph.tensor("c8").data(), written[7].data(), other.weight.size() * sizeof(float));
  for (const auto& x : {few, many})
    CHECK(same_bits(session.run({{"x", x}}).at("y"),
                    host().call("tree_ensemble", with(x, written), {})));
}

TEST_CASE("tree_ensemble_classifier: the highest of several classes that have weights") {
  auto ensemble = forest(9, 4, 4, 5, false);
  // classes without weights have a score of 0, but are not the highest
  for (auto& weight : ensemble.weight) weight = -std::abs(weight) - 1;
  const auto x = rows(tenon::f32, 200, 3);
  auto inputs = with(x, ensemble.tensors(tenon::f32));
  inputs.push_back(Tensor::from(std::vector<std::int64_t>{40, 30, 20, 10}, {4}));
  const auto found = host().call_all("tree_ensemble_classifier", inputs, {});
  const auto numbers = doubles(x), scores = doubles(found[1]);
  for (std::int64_t row = 0; row < 200; ++row) {
    std::int64_t best = -1;
    double highest = -inf;
    for (std::int32_t target = 0; target < 4; ++target) {
      const auto weights = ensemble.reached(&numbers[static_cast<std::size_t>(3 * row)], target);
      const auto sum = aggregated("sum", weights, 1);
      CHECK(scores[static_cast<std::size_t>(4 * row + target)] == doctest::Approx(sum));
      if (!weights.empty() && sum > highest) highest = sum, best = target;
    }
    CHECK(found[0].values<std::int64_t>()[static_cast<std::size_t>(row)] == 40 - 10 * best);
  }
}

namespace {
/// A stump on feature 0 at 0: `low` for x <= 0, else `high`, both for class `target`.
std::vector<Tensor> stump(std::int32_t target, double low, double high) {
  Ensemble made;
  made.add(0, 0, 0, false);
  made.true_child[0] = made.leaf(target, low), made.false_child[0] = made.leaf(target, high);
  made.root = {0};
  auto all = with(tensor(tenon::f32, {2, 1}, {-1, 1}), made.tensors(tenon::f32));
  all.push_back(Tensor::from(std::vector<std::int64_t>{7, 8}, {2}));
  return all;
}
}  // namespace

// As onnxruntime 1.32 computes them.
TEST_CASE("tree_ensemble_classifier: two classes whose weights are those of one") {
  const auto check = [](const std::vector<Tensor>& inputs, const char* transform,
                        const Integers& labels, const Doubles& scores) {
    CAPTURE(transform);
    const auto found =
        host().call_all("tree_ensemble_classifier", inputs, {{"post_transform", transform}});
    for (std::size_t i = 0; i < labels.size(); ++i)
      CHECK(found[0].values<std::int64_t>()[i] == labels[i]);
    for (std::size_t i = 0; i < scores.size(); ++i)
      CHECK(doubles(found[1])[i] == doctest::Approx(scores[i]));
  };
  const double p = 1 / (1 + std::exp(-0.25)), q = 1 / (1 + std::exp(-0.75));
  // positive weights are the probability of the second class, whichever class they belong to
  for (const std::int32_t target : {0, 1})
    check(stump(target, 0.25, 0.75), "none", {7, 8},
          target == 0 ? Doubles{0.75, 0.25, 0.25, 0.75} : Doubles{0, 0.25, 0, 0.75});
  check(stump(0, 0.25, 0.75), "logistic", {7, 8}, {1 - p, p, 1 - q, q});
  // other weights decide by their sign
  check(stump(0, -0.25, 0.75), "none", {7, 8}, {0.25, -0.25, -0.75, 0.75});
  check(stump(0, -0.25, 0.75), "logistic", {7, 8}, {p, 1 - p, 1 - q, q});
}

TEST_CASE("tree_ensemble: arrays that are not trees are rejected") {
  struct Case {
    const char* sentence;
    void (*change)(Ensemble&);
  };
  const Case cases[] = {{"has the children 99 and", [](Ensemble& e) { e.true_child[0] = 99; }},
                        {"has the children", [](Ensemble& e) { e.false_child[0] = -7; }},
                        {"without cycles", [](Ensemble& e) { e.true_child[0] = 0; }},
                        {"without cycles",
                         [](Ensemble& e) {
                           const auto twin = e.add(0, 0, 0, false);
                           e.true_child[0] = twin;
                           e.true_child[static_cast<std::size_t>(twin)] = 0;
                           e.false_child[static_cast<std::size_t>(twin)] = 1;
                         }},
                        {"the root of tree 0 is node -1", [](Ensemble& e) { e.root[0] = -1; }},
                        {"tests feature -3", [](Ensemble& e) { e.feature[0] = -3; }},
                        {"the trees need 8 features", [](Ensemble& e) { e.feature[0] = 7; }},
                        {"has mode 6", [](Ensemble& e) { e.mode[0] = 6; }},
                        {"belongs to node 50", [](Ensemble& e) { e.weight_node[0] = 50; }},
                        {"belongs to target 1", [](Ensemble& e) { e.weight_target[0] = 1; }}};
  for (const auto& each : cases) {
    CAPTURE(each.sentence);
    Ensemble ensemble;
    ensemble.add(1, 0, 0, false);
    ensemble.true_child[0] = ensemble.leaf(0, 1), ensemble.false_child[0] = ensemble.leaf(0, 2);
    ensemble.root = {0};
    each.change(ensemble);
    const auto failure = failure_of([&] {
      host().call("tree_ensemble", with(rows(tenon::f32, 2, 1), ensemble.tensors(tenon::f32)), {});
    });
    CHECK_MESSAGE(failure.message.find(each.sentence) != std::string::npos, failure.message);
  }
}

TEST_CASE("label_encoder: keys in any order, NaN, defaults and unknown elements") {
  const auto real = [](const Doubles& numbers) {
    return tensor(tenon::f32, {static_cast<std::int64_t>(numbers.size())}, numbers);
  };
  const auto whole = [](const Integers& numbers) {
    return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
  };
  const auto x = real({3, -0.0, nan_value, 5, inf}), keys = real({nan_value, 3, 0, 3, inf});
  const auto values = whole({1, 2, 3, 4, 5}), rest = whole({-9});
  CHECK(doubles(host().call("label_encoder", {x, keys, values, rest}, {})) ==
        Doubles{2, 3, 1, -9, 5});
  CHECK(doubles(host().call("label_encoder", {x, keys, values, rest}, {{"match_nan", false}})) ==
        Doubles{2, 3, -9, -9, 5});
  CHECK(failure_of([&] {
          host().call("label_encoder", {x, keys, values}, {});
        }).message.find("x has the element 5, which is not a key") != std::string::npos);
}

TEST_CASE("normalizer: norms of rows, and rows of zeros") {
  const auto x = tensor(tenon::f32, {2, 3}, {3, -4, 0, 0, 0, 0});
  const auto by = [&](const char* norm) {
    return doubles(host().call("normalizer", {x}, {{"norm", norm}}));
  };
  CHECK(by("l1")[1] == doctest::Approx(-4.0 / 7));
  CHECK(by("l2")[1] == doctest::Approx(-0.8));
  CHECK(by("max")[1] == doctest::Approx(-4.0 / 3));
  for (const auto* norm : {"l1", "l2", "max"}) CHECK(by(norm)[5] == 0);
}

TEST_CASE("tfidf_vectorizer: pools that do not fit are refused") {
  using Longs = std::vector<std::int64_t>;
  const auto list = [](const Longs& numbers) {
    return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
  };
  struct Case {
    Longs starts, columns;
    const char* message;
  };
  for (const auto& [starts, columns, message] : std::vector<Case>{
           {{0, 2}, {0, 1, 2}, ""},
           {{0, 1}, {0, 1, 2}, "the n-grams of length 2 are the elements 1 to 4 of pool"},
           {{0, 5}, {0, 1, 2}, "the n-grams of length 1 are the elements 0 to 5"},
           {{2, 0}, {0, 1, 2}, "the n-grams of length 1 are the elements 2 to 0"},
           {{0, 2}, {0, 1}, "pool has 3 n-grams, but columns has 2 elements"},
           {{0, 2}, {0, 1, 3}, "columns has 3, but the output has 3 columns"},
           {{0, 2}, {0, -1, 2}, "columns has -1, but the output has 3 columns"}}) {
    const std::string needed = message;
    CAPTURE(needed);
    const auto failure = failure_of([&, &starts = starts, &columns = columns] {
      host().call("tfidf_vectorizer",
                  {list({7, 8}), list({7, 8, 7, 8}), list(starts), list(columns)},
                  {{"outputs", std::int64_t{3}}});
    });
    CHECK(failure.message.empty() == needed.empty());
    CHECK(failure.message.find(needed) != std::string::npos);
  }
}

TEST_CASE("svm_regressor: each kernel's formula") {
  const Doubles x{0.5, -1, 2}, v{1, 0.25, -0.5}, w{0, 1, 1};
  double dot_v = 0, dot_w = 0, far_v = 0, far_w = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    dot_v += x[i] * v[i], dot_w += x[i] * w[i];
    far_v += (x[i] - v[i]) * (x[i] - v[i]), far_w += (x[i] - w[i]) * (x[i] - w[i]);
  }
  const auto kernel = [](const std::string& name, double dot, double far) {
    if (name == "rbf") return std::exp(-0.5 * far);
    if (name == "sigmoid") return std::tanh(0.5 * dot + 0.25);
    return name == "poly" ? std::pow(0.5 * dot + 0.25, 2) : dot;
  };
  for (const std::string name : {"linear", "poly", "rbf", "sigmoid"}) {
    CAPTURE(name);
    const auto found = host().call(
        "svm_regressor",
        {tensor(tenon::f32, {1, 3}, x), tensor(tenon::f32, {2, 3}, {1, 0.25, -0.5, 0, 1, 1}),
         tensor(tenon::f32, {2}, {2, -3}), tensor(tenon::f32, {1}, {0.125})},
        {{"kernel", name}, {"gamma", 0.5}, {"coef0", 0.25}, {"degree", 2.0}});
    CHECK(doubles(found)[0] ==
          doctest::Approx(2 * kernel(name, dot_v, far_v) - 3 * kernel(name, dot_w, far_w) + 0.125));
  }
}

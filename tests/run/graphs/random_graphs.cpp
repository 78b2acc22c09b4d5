// Random graphs of operators of several plugins: sessions compute the same as eager calls of the
// nodes in order. TENON_RANDOM_GRAPHS=10000 tries more graphs than CI, TENON_RANDOM_SEED=N another
// sequence or one graph that failed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "built.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace tenon;

/// A value of the random graph, and the result of the eager call.
struct RandomValue {
  Value value;
  Tensor tensor;
};

struct RandomNode {
  std::string op;
  std::vector<std::size_t> inputs;
  Attributes attributes;
};

class OperatorGraph {
 public:
  OperatorGraph(Host& host, std::uint64_t seed) : host_(host), graph_(host), random_(seed) {
    for (int i = 0; i < 3; ++i) add_source(i);
    const auto count = 3 + below(14);
    for (std::size_t i = 0; i < count; ++i) add_node();
    add_outputs();
    if (below(3) == 0) add_gradients();
  }

  Graph& graph() { return graph_; }
  const NamedTensors& inputs() const { return inputs_; }
  const NamedTensors& outputs() const { return outputs_; }
  std::string text() { return graph_.to_json(); }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  std::int64_t number(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first) + 1));
  }
  const RandomValue& any() { return pairs_[below(pairs_.size())]; }

  Tensor elements(const Shape& shape) {
    auto tensor = Tensor::empty(f32, shape);
    for (auto& element : tensor.values<float>()) element = static_cast<float>(number(-16, 16)) / 8;
    return tensor;
  }

  // One of each role, some with a size of 1 that broadcasts.
  void add_source(int i) {
    const Shape shape{below(4) == 0 ? 1 : rows_, below(4) == 0 ? 1 : columns_};
    const auto tensor = elements(shape);
    const auto add = [&](Value value) { pairs_.push_back({value, tensor}); };
    const auto name = fmt::format("s{}", i);
    if (below(3) == 0) return add(graph_.constant(name, tensor));
    if (below(2) == 0)
      return add(graph_.variable(name, tensor)), variables_.push_back(pairs_.back().value);
    inputs_.emplace(name, tensor);
    add(graph_.input(name, f32, below(2) == 0 ? shape : Shape{unknown, unknown}));
  }

  // With some probability a copy of an earlier node, which a session merges.
  void add_node() {
    const auto call =
        !calls_.empty() && below(3) == 0 ? calls_[below(calls_.size())] : random_node();
    std::vector<Value> values;
    std::vector<Tensor> tensors;
    for (const auto i : call.inputs)
      values.push_back(pairs_[i].value), tensors.push_back(pairs_[i].tensor);
    auto results = host_.call_all(call.op, tensors, call.attributes);
    const auto node = graph_.add(call.op, values, call.attributes);
    for (std::size_t i = 0; i < results.size(); ++i)
      pairs_.push_back(
          {i == 0 ? Value(node) : node.output(static_cast<std::uint32_t>(i)), results[i]});
    calls_.push_back(call);
  }

  RandomNode random_node() {
    static const char* const unary[] = {"abs", "neg",  "relu",  "tanh",     "sigmoid", "square",
                                        "exp", "sign", "floor", "softplus", "sin"};
    static const char* const binary[] = {"add", "sub", "mul", "maximum", "minimum"};
    static const char* const reductions[] = {"sum", "mean", "max"};
    const auto one = below(pairs_.size()), other = below(pairs_.size());
    const auto& shape = pairs_[one].tensor.shape();
    const auto axis = number(0, 1);
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        return bounded(unary[below(std::size(unary))], {one});
      case 3:
      case 4:
      case 5:
        if (fits(shape, pairs_[other].tensor.shape()))
          return bounded(binary[below(std::size(binary))], {one, other});
        return {"neg", {one}, {}};
      case 6:
        return {reductions[below(std::size(reductions))],
                {one},
                {{"axis", {axis}}, {"keepdims", true}}};
      case 7:
        return {"softmax", {one}, {{"axis", axis}}};
      case 8:
        if (shape[0] == 1 || below(2) == 0) return {"concat", {one, one}, {{"axis", axis}}};
        return {"split", {one}, {{"axis", 0}, {"sections", 2}, {"sizes", {1, shape[0] - 1}}}};
      default:
        return {"clip", {one}, {{"low", -0.5}, {"high", 0.75}}};
    }
  }
  // Keeps exp and square of exp finite.
  RandomNode bounded(const char* op, std::vector<std::size_t> inputs) {
    const std::string name = op;
    const auto& data = pairs_[inputs[0]].tensor;
    double largest = 0;
    for (const auto element : data.values<float>())
      largest = std::max(largest, std::fabs(static_cast<double>(element)));
    if (largest > 8 && (name == "exp" || name == "square" || name == "mul"))
      return {"tanh", {inputs[0]}, {}};
    return {name, std::move(inputs), {}};
  }
  static bool fits(const Shape& left, const Shape& right) {
    for (int axis = 0; axis < 2; ++axis)
      if (left[axis] != right[axis] && left[axis] != 1 && right[axis] != 1) return false;
    return true;
  }

  // Any values of the graph, one of them twice, and the nonzero elements, whose number is known
  // only at run time.
  void add_outputs() {
    const auto count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& pair = i == 0 ? pairs_.back() : any();
      give_out(pair.value, pair.tensor);
      if (below(8) == 0) give_out(pair.value, pair.tensor);
    }
    if (below(4) != 0) return;
    const auto& pair = any();
    const auto found = host_.call("nonzero", {pair.tensor});
    const auto indices = graph_.add("nonzero", {pair.value});
    give_out(indices, found);
    const auto sizes = graph_.add("shape", {indices});
    give_out(
        graph_.add("broadcast_to", {graph_.constant("nine", Tensor::from({9.0f}, {1, 1})), sizes}),
        host_.call("broadcast_to", {Tensor::from({9.0f}, {1, 1})},
                   {{"shape", {found.shape()[0], found.shape()[1]}}}));
  }
  void give_out(Value value, const Tensor& tensor) {
    const auto name = fmt::format("y{}", outputs_.size());
    graph_.output(name, value);
    outputs_.emplace(name, tensor);
  }

  // Without eager equivalents: compared only between sessions, so they are not among outputs().
  void add_gradients() {
    if (variables_.empty()) return;
    const auto loss = graph_.add("sum", {graph_.add("tanh", {any().value})});
    const auto gradients = graph_.gradient(loss, variables_);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i].empty()) graph_.output(fmt::format("g{}", i), gradients[i]);
  }

  Host& host_;
  Graph graph_;
  std::mt19937_64 random_;
  std::int64_t rows_ = 2, columns_ = 3;
  std::vector<RandomValue> pairs_;
  std::vector<RandomNode> calls_;
  std::vector<Value> variables_;
  NamedTensors inputs_, outputs_;
};

constexpr CloseOptions close{.rtol = 1e-4, .atol = 1e-5, .equal_nan = true};

/// An accumulating output: its contents before and after.
void check_added(Session& session, OperatorGraph& graph, const NamedTensors& want) {
  const auto& [name, expected] = *graph.outputs().begin();
  if (expected.dtype() != f32) return;
  const auto memory = full(f32, expected.shape(), 2.0);
  Destinations destinations;
  destinations[name] = {memory, Write::add};
  session.run(graph.inputs(), destinations);
  auto sum = want.at(name).clone();
  for (auto& element : sum.values<float>()) element += 2;
  CHECK(all_close(memory, sum, close));
}

void check(Host& host, std::uint64_t seed) {
  OperatorGraph graph(host, seed);
  CAPTURE(seed);
  CAPTURE(graph.text());
  Session plain(graph.graph(), {.optimize = Optimize::none});
  const auto want = plain.run(graph.inputs());
  for (const auto& output : graph.outputs()) {
    CAPTURE(output.first);
    CHECK(all_close(want.at(output.first), output.second, close));
  }
  SessionOptions settings[6];
  settings[1].optimize = Optimize::exact;
  settings[2].debug = true;
  settings[3].training = true;
  settings[4].profile = true;
  settings[5].constant_weights = true;
  for (const auto& setting : settings) {
    Session session(graph.graph(), setting);
    CAPTURE(&setting - settings);
    for (int run = 0; run < 3; ++run)
      for (const auto& output : session.run(graph.inputs())) {
        CAPTURE(output.first);
        CHECK(all_close(output.second, want.at(output.first), close));
      }
    if (!setting.debug) check_added(session, graph, want);
    const auto& name = want.rbegin()->first;
    CHECK(
        all_close(session.run(graph.inputs(), {.outputs = {name}}).at(name), want.at(name), close));
  }
  const auto loaded = Graph::from_json(host, graph.text());
  for (const auto& [name, tensor] : Session(loaded).run(graph.inputs()))
    CHECK(all_close(tensor, want.at(name), close));
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_CASE("sessions: random graphs compute what eager calls do") {
  const TemporaryFolder cache;
  HostOptions options;
  options.threads = 1, options.search_defaults = false, options.trust_writable = true,
  options.cache = cache.path();
  Host host(options);
  host.add_plugins(built("plugins"));
  const auto first = from_environment("TENON_RANDOM_SEED", 1),
             count = from_environment("TENON_RANDOM_GRAPHS", 300);
  for (auto seed = first; seed < first + count; ++seed) check(host, seed);
}

}  // namespace

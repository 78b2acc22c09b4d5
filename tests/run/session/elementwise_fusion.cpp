// Fused elementwise groups: the same bits and the same errors as one step per node.
#include <doctest/doctest.h>

#include <random>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

struct FusionHost : Host {
  explicit FusionHost(int threads = 2) : Host(ApplicationHost::options(threads)) {
    add_plugins(TENON_TEST_PLUGINS);
  }
};

/// The square root; fails for negative numbers.
struct Picky : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the square root; an error below 0");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  T operator()(T x) const {
    if (x < T(0)) throw std::runtime_error("a number is below 0");
    return sqrt(x);
  }
};

const SessionOptions node_by_node{.optimize = Optimize::none};

/// Names of the nodes of each fused group, in step order.
std::vector<std::string> groups_of(const Graph& graph, SessionOptions options = {},
                                   const std::map<std::string, Shape>& shapes = {}) {
  std::vector<std::string> found;
  for (const auto& step : Session(graph, options).plan(shapes).steps)
    if (!step.nodes.empty()) found.push_back(step.node);
  return found;
}

constexpr std::int64_t many = 140001;

void same_with_and_without(const Graph& graph, const NamedTensors& inputs,
                           SessionOptions options = {}) {
  Session chained(graph, options);
  options.optimize = Optimize::none;
  Session plain(graph, options);
  for (int run = 0; run < 2; ++run) {
    const auto expected = plain.run(inputs), found = chained.run(inputs);
    for (const auto& output : expected) {
      CAPTURE(output.first);
      CHECK(same_bits(found.at(output.first), output.second));
    }
  }
}

/// Values of one shape, rows and single elements, and the results of random operators on them.
class RandomGraph {
 public:
  RandomGraph(Host& host, std::uint32_t seed, DType dtype)
      : graph_(host), random_(seed), dtype_(dtype) {
    static const std::vector<Shape> shapes = {
        {many}, {130, 1024}, {4, 520, 130}, {4, 40000}, {17, 8191}, {1, 8, 70, 256}, {3, 46080}};
    whole_ = shapes[below(shapes.size())];
    for (int i = 0; i < 3; ++i) add_input(whole_);
    add_input(Shape::scalar());
    add_input({1, 1});
    if (whole_.rank() > 1) {
      add_input({whole_[whole_.rank() - 1]});
      add_input({1, whole_[whole_.rank() - 1]});
      add_input({whole_[whole_.rank() - 2], 1});  // no fused group has it
    }
    for (int i = 0; i < 14; ++i) add_node();
    for (const auto& value : values_)
      if (below(4) == 0 || &value == &values_.back())
        graph_.output("output " + std::to_string(outputs_++), value);
  }

  const Graph& graph() const { return graph_; }
  const NamedTensors& inputs() const { return inputs_; }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  Value any() {
    return values_[values_.size() - 1 - below(std::min<std::size_t>(values_.size(), 9))];
  }
  void add_input(const Shape& shape) {
    const auto name = "input " + std::to_string(inputs_.size());
    values_.push_back(graph_.input(name, dtype_, shape));
    inputs_.emplace(name, random_tensor(dtype_, shape, {.seed = random_()}));
  }
  void add_node() {
    static const std::vector<const char*> real = {"exp",    "tanh", "sigmoid", "relu",
                                                  "square", "neg",  "sin"};
    static const std::vector<const char*> whole = {"abs", "square", "neg"};
    static const std::vector<const char*> two = {"add", "mul", "sub", "maximum"};
    const auto& one = floating.has(dtype_) ? real : whole;
    if (const auto kind = below(8); kind < 3)
      values_.push_back(graph_.add(one[below(one.size())], {any()}));
    else if (kind == 3)
      values_.push_back(graph_.add("where", {graph_.add("greater", {any(), any()}), any(), any()}));
    else
      values_.push_back(graph_.add(two[below(two.size())], {any(), any()}));
  }

  Graph graph_;
  std::mt19937 random_;
  DType dtype_;
  Shape whole_;
  std::vector<Value> values_;
  NamedTensors inputs_;
  int outputs_ = 0;
};

}  // namespace

TEST_CASE("fusion: random graphs have the same bits as node by node, on 1 to 4 threads") {
  std::size_t groups = 0;
  for (const int threads : {1, 2, 4}) {
    FusionHost host(threads);
    std::uint32_t seed = 0;
    for (const auto dtype : {f32, f16, bf16, f64, i32, u8, i64, f32, f16}) {
      const RandomGraph random(host, ++seed + 100U * static_cast<std::uint32_t>(threads), dtype);
      CAPTURE(seed);
      CAPTURE(threads);
      CAPTURE(name_of(dtype));
      same_with_and_without(random.graph(), random.inputs());
      groups += groups_of(random.graph()).size();
    }
  }
  CHECK(groups > 20);
}

TEST_CASE("fusion: closed-form results, in rows and in chunks of rows") {
  FusionHost host;
  for (const auto& shape :
       {Shape{many}, Shape{140, 1000}, Shape{5, 60, 520}, Shape{3, 49152}, Shape{150, 1001}}) {
    CAPTURE(shape);
    const auto last = shape[shape.rank() - 1];
    Graph graph(host);
    const auto x = graph.input("x", f64, shape), row = graph.input("row", f64, {last}),
               one = graph.input("one", f64, {1});
    const auto sum = graph.add("add", {graph.add("mul", {x, row}), one});
    graph.output("y", graph.add("sub", {graph.add("square", {sum}), x}));
    graph.output("sum", sum);
    CHECK(groups_of(graph) == std::vector<std::string>{"mul+add+square+sub"});
    const auto xs = random_tensor(f64, shape, {.seed = 1}),
               rows = random_tensor(f64, {last}, {.seed = 2});
    const auto found =
        Session(graph).run({{"x", xs}, {"row", rows}, {"one", full(f64, {1}, 0.25)}});
    const auto *y = found.at("y").values<double>().data(),
               *s = found.at("sum").values<double>().data();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < xs.size(); ++i) {
      const double each = xs.values<double>()[static_cast<std::size_t>(i)];
      const double expected =
          each * rows.values<double>()[static_cast<std::size_t>(i % last)] + 0.25;
      wrong += s[i] != expected || y[i] != expected * expected - each ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("fusion: gradients, including sums of gradients, and in-place updates of variables") {
  for (const int threads : {1, 3}) {
    FusionHost host(threads);
    for (const auto dtype : {f32, f16, f64}) {
      CAPTURE(name_of(dtype));
      Graph graph(host);
      const auto x = graph.input("x", dtype, {140, 1024}),
                 w = graph.variable("w", random_tensor(dtype, {140, 1024}, {.seed = 3}));
      const auto gate = graph.add("sigmoid", {graph.add("mul", {x, w})});
      const auto y = graph.add("add", {graph.add("mul", {gate, x}), graph.add("tanh", {gate})});
      const auto gradients = graph.gradient(graph.add("sum", {graph.add("mul", {y, w})}), {x, w});
      graph.output("dx", gradients[0]);
      graph.output("dw", gradients[1]);
      graph.output("y", y);
      CHECK(groups_of(graph).size() >= 2);
      same_with_and_without(graph, {{"x", random_tensor(dtype, {140, 1024}, {.seed = 4})}});
      graph.update(
          w,
          graph.add("sub", {w, graph.add("mul", {gradients[1],
                                                 graph.constant("rate", full(dtype, Shape::scalar(),
                                                                             0.125))})}));
      same_with_and_without(graph, {{"x", random_tensor(dtype, {140, 1024}, {.seed = 4})}},
                            {.training = true});
    }
  }
}

TEST_CASE("fusion: which nodes are fused, and which are not") {
  FusionHost host;
  const auto groups = [&](std::int64_t size, auto&& build) {
    Graph graph(host);
    build(graph, graph.input("x", f32, {size}));
    return groups_of(graph);
  };
  using Names = std::vector<std::string>;
  const auto line = [](Graph& graph, Value x) {
    graph.output(
        "y", graph.add("exp", {graph.add("neg", {graph.add("square", {x}, {}, "a")}, {}, "b")}, {},
                       "c"));
  };
  CHECK(groups(many, line) == Names{"a+b+c"});
  CHECK(groups(1000, line) == Names{});  // fits the cache anyway
  CHECK(groups(many, [](Graph& graph, Value x) {
          const auto a = graph.add("square", {x}, {}, "a"), b = graph.add("neg", {x}, {}, "b");
          graph.output("y", graph.add("mul", {a, b}, {}, "c"));
        }) == Names{"a+b+c"});
  // the sum needs a, and b needs the sum
  CHECK(
      groups(many, [](Graph& graph, Value x) {
        const auto a = graph.add("square", {x}, {}, "a"), b = graph.add("neg", {a}, {}, "b");
        const auto sum = graph.add("sum", {a}, {}, "sum"), c = graph.add("mul", {b, sum}, {}, "c");
        graph.output("y", graph.add("neg", {c}, {}, "d"));
      }) == Names{"a+b", "c+d"});
  // two large inputs that wait for a third one would use more memory than their sum
  CHECK(groups(many, [](Graph& graph, Value x) {
          const auto softmax = [&](Value value, double scale) {
            return graph.add(
                "softmax",
                {graph.add("mul", {value, graph.constant("scale " + std::to_string(scale),
                                                         full(f32, Shape::scalar(), scale))})},
                {{"axis", 0}});
          };
          const auto sum = graph.add("add", {softmax(x, 1), softmax(x, 2)}, {}, "a");
          graph.output("y", graph.add("add", {sum, softmax(x, 3)}, {}, "b"));
        }).size() == 0);
}

TEST_CASE("fusion: intermediate values use no memory of the plan") {
  FusionHost host;
  Graph graph(host);
  auto value = graph.input("x", f32, {1 << 20});
  for (int i = 0; i < 8; ++i) value = graph.add("mul", {value, graph.add("sigmoid", {value})});
  graph.output("y", value);
  CHECK(Session(graph).plan_bytes({}) < 1 << 20);
  CHECK(Session(graph, node_by_node).plan_bytes({}) >= 2 << 22);
}

TEST_CASE(
    "fusion: failures name the node, profiles and traces list all nodes, and the search for NaN "
    "finds the first") {
  for (const int threads : {1, 2}) {
    FusionHost host(threads);
    host.add<Picky>();
    Graph graph(host);
    const auto x = graph.input("x", f32, {many});
    const auto a = graph.add("add", {x, x}, {}, "twice"), b = graph.add("picky", {a}, {}, "root");
    graph.output("y", graph.add("neg", {graph.add("log", {b}, {}, "logarithm")}, {}, "minus"));
    Session session(graph, {.profile = true});
    auto values = full(f32, {many}, 4).clone();
    session.run({{"x", values}});
    REQUIRE(session.times().size() == 1);
    CHECK(session.times()[0].node == "twice+root+logarithm+minus");
    CHECK(session.times()[0].op == "add+picky+log+neg");
    values.values<float>()[many - 2] = -1;
    const auto failure = failure_of([&] { session.run({{"x", values}}); });
    check_says(failure.message,
               {"[picky] node 'root':", "a number is below 0", "x float32 [140001]"});
    values.values<float>()[many - 2] = 0;
    CHECK(session.run({{"x", values}}).at("y").values<float>()[many - 2] ==
          std::numeric_limits<float>::infinity());
    CHECK(session.first_non_finite({{"x", values}}) ==
          "[log] node 'logarithm': element 139999 is -inf");
    CHECK(session.run({{"x", values}}).at("y").values<float>()[0] == -std::log(std::sqrt(8.0F)));
  }
}

TEST_CASE("fusion: outputs accumulate into destinations, whether or not inner nodes read them") {
  FusionHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {many});
  const auto a = graph.add("square", {x}), b = graph.add("neg", {a});
  graph.output("a", a);
  graph.output("b", b);
  REQUIRE(groups_of(graph).size() == 1);
  Session session(graph);
  for (int run = 0; run < 2; ++run) {
    const auto to_a = full(f32, {many}, 10), to_b = full(f32, {many}, 20);
    session.run({{"x", full(f32, {many}, 3)}},
                Destinations{{"a", {to_a, Write::add}}, {"b", {to_b, Write::add}}});
    CHECK(same_bits(to_a, full(f32, {many}, 19)));
    CHECK(same_bits(to_b, full(f32, {many}, 11)));
    const auto plain = session.run({{"x", full(f32, {many}, 3)}});
    CHECK(same_bits(plain.at("b"), full(f32, {many}, -9)));
  }
}

TEST_CASE("fusion: if outputs overlap inputs, results follow from the order of the nodes") {
  FusionHost host(1);  // with more threads, even one kernel would vary between runs
  Graph graph(host);
  const auto x = graph.input("x", f32, {many});
  const auto a = graph.add("square", {x}), b = graph.add("add", {a, x});
  graph.output("a", a);
  graph.output("b", graph.add("neg", {b}));
  REQUIRE(groups_of(graph).size() == 1);
  Session chained(graph), plain(graph, node_by_node);
  const auto values = random_tensor(f32, {2 * many}, {.seed = 5});
  const auto results = [&](Session& session, std::int64_t shift, bool in_order) {
    const auto memory = values.clone();
    const auto at = [&](std::int64_t first) { return rows(memory, first, first + many); };
    std::vector<Tensor> inputs = {at(std::max<std::int64_t>(-shift, 0))},
                        outputs = {at(std::max<std::int64_t>(shift, 0)),
                                   Tensor::empty(f32, {many})};
    if (in_order)
      session.run_in_order(inputs, outputs);
    else
      session.run({{"x", inputs[0]}}, Destinations{{"a", {outputs[0]}}, {"b", {outputs[1]}}});
    return std::pair(memory, outputs[1]);
  };
  for (const auto shift : std::initializer_list<std::int64_t>{0, 1000, many, -5000, -1000})
    for (int run = 0; run < 4; ++run) {
      CAPTURE(shift);
      CAPTURE(run);
      results(chained, many, true);  // repeats the run by the fast path
      const auto expected = results(plain, shift, run % 2 == 0),
                 found = results(chained, shift, run % 2 == 0);
      CHECK(same_bits(found.first, expected.first));
      CHECK(same_bits(found.second, expected.second));
    }
  CHECK(chained.run({{"x", rows(values, 0, many)}}).size() == 2);
}

// if, while, scan, branch and loop: operators whose parameters are graphs.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

struct FlowHost : Host {
  explicit FlowHost(HostOptions options = ApplicationHost::options(2)) : Host(std::move(options)) {
    add_plugins(TENON_TEST_PLUGINS);
  }
};

/// y = op(x) of any float32 vector.
std::string one_node(Host& host, const char* op) {
  Graph graph(host);
  graph.output("y", graph.add(op, {graph.input("x", f32, {-1})}));
  return graph.to_json();
}

/// One step of a recurrent cell: h' = tanh(x w + h u), and h' again as a value to stack.
Value cell(Graph& graph, Value h, Value x, Value w, Value u) {
  return graph.add("tanh",
                   {graph.add("add", {graph.add("matmul", {x, w}), graph.add("matmul", {h, u})})});
}

std::string cell_body(Host& host) {
  Graph graph(host);
  const auto h = graph.input("h", f64, {2, 3}), x = graph.input("x", f64, {2, 4});
  const auto w = graph.input("w", f64, {4, 3}), u = graph.input("u", f64, {3, 3});
  const auto next = cell(graph, h, x, w, u);
  graph.output("next", next);
  graph.output("stacked", graph.add("square", {next}));
  return graph.to_json();
}

const char* const counting = R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [1]}},
  "nodes": [{"name": "n", "op": "while", "inputs": ["x"],
             "attrs": {"condition": {"graph": "small"}, "body": {"graph": "twice"}}}],
  "outputs": {"y": "n"},
  "graphs": {
    "small": {"tenon": 1, "inputs": {"v": {"dtype": "float32", "shape": [1]}},
              "constants": {"hundred": {"dtype": "float32", "shape": [1], "values": [100]}},
              "nodes": [{"name": "less", "op": "less", "inputs": ["v", "hundred"]}],
              "outputs": {"again": "less"}},
    "twice": {"tenon": 1, "inputs": {"v": {"dtype": "float32", "shape": [1]}},
              "nodes": [{"name": "sum", "op": "add", "inputs": ["v", "v"]}],
              "outputs": {"v2": "sum"}}}})";

Tensor whole(std::int64_t value) {
  return Tensor::from({value}, Shape::scalar());
}

/// x, or x concatenated with itself; and its sum.
std::string parts(Host& host, bool twice) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1});
  graph.output("part", twice ? graph.add("concat", {x, x}, {{"axis", 0}}) : graph.add("neg", {x}));
  graph.output("sum", graph.add("sum", {x}));
  return graph.to_json();
}

/// Doubles the length of v, and stacks its sum before that, until the sum is 10 or more.
std::string doubling(Host& host, bool stacks_whole = false) {
  Graph graph(host);
  graph.input("run", i64, Shape::scalar());
  graph.input("again", boolean, Shape::scalar());
  const auto v = graph.input("v", f32, {-1});
  const auto next = graph.add("concat", {v, v}, {{"axis", 0}});
  const auto ten = graph.constant("ten", Tensor::from({10.0F}, Shape::scalar()));
  graph.output("go_on", graph.add("less", {graph.add("sum", {next}), ten}));
  graph.output("next", next);
  graph.output("stacked", stacks_whole ? v : graph.add("sum", {v}));
  return graph.to_json();
}

}  // namespace

TEST_CASE("control flow: if runs one of two graphs, in graphs, files and eager calls") {
  FlowHost host;
  const Attributes attributes{{"then", one_node(host, "square")}, {"else", one_node(host, "neg")}};
  Graph graph(host);
  const auto condition = graph.input("condition", boolean, Shape::scalar()),
             x = graph.input("x", f32, {-1});
  const auto y = graph.add("if", {condition, x}, attributes, "choice");
  CHECK(graph.shape(y) == Shape{-1});
  graph.output("y", y);
  graph.output("dx", graph.gradient(graph.add("sum", {y}), {x})[0]);
  for (const auto& each : {graph, Graph::from_bytes(host, graph.to_bytes()),
                           Graph::from_json(host, graph.to_json())}) {
    Session session(each);
    for (const bool value : {true, false, true}) {
      const auto made = session.run({{"condition", boolean_of(value)}, {"x", vector_of({3, -4})}});
      CHECK(floats_of(made.at("y")) ==
            (value ? std::vector<float>{9, 16} : std::vector<float>{-3, 4}));
      CHECK(floats_of(made.at("dx")) ==
            (value ? std::vector<float>{6, -8} : std::vector<float>{-1, -1}));
    }
  }
  CHECK(Graph::from_json(host, graph.to_json()).to_json() == graph.to_json());
  CHECK(floats_of(host.call("if", {boolean_of(false), vector_of({5})}, attributes)) ==
        std::vector<float>{-5});
}

TEST_CASE("control flow: inputs that the executed branch does not use have zero gradients") {
  FlowHost host;
  const auto branch = [&](bool first) {
    Graph graph(host);
    const auto a = graph.input("a", f32, {2}), b = graph.input("b", f32, {2});
    graph.output("y", graph.add("square", {first ? a : b}));
    return graph.to_json();
  };
  Graph graph(host);
  const auto a = graph.input("a", f32, {2}), b = graph.input("b", f32, {2});
  const auto y = graph.add("if", {graph.input("c", boolean, {1}), a, b},
                           {{"then", branch(true)}, {"else", branch(false)}});
  const auto grads = graph.gradient(graph.add("sum", {y}), {a, b});
  graph.output("da", grads[0]);
  graph.output("db", grads[1]);
  const auto made = Session(graph).run(
      {{"c", boolean_of(false).reshape({1})}, {"a", vector_of({1, 2})}, {"b", vector_of({3, 4})}});
  CHECK(floats_of(made.at("da")) == std::vector<float>{0, 0});
  CHECK(floats_of(made.at("db")) == std::vector<float>{6, 8});
}

TEST_CASE(
    "control flow: while runs its body until the condition is false, and reports reaching its "
    "limit") {
  FlowHost host;
  auto graph = Graph::from_json(host, counting);
  Session session(graph);
  CHECK(first_of(session.run({{"x", vector_of({3})}}).at("y")) == 192);
  CHECK(first_of(session.run({{"x", vector_of({300})}}).at("y")) == 300);
  const auto again = Graph::from_json(host, graph.to_json());
  CHECK(again.to_json() == graph.to_json());
  CHECK(first_of(Session(again).run({{"x", vector_of({1})}}).at("y")) == 128);

  Attributes attributes{{"limit", 3}};
  const auto nodes = graph.nodes();
  for (const auto& [name, value] : nodes[0].attributes)
    if (name == "condition" || name == "body") attributes.set(name, value);
  CHECK(failure_of([&] {
          host.call("while", {vector_of({3})}, attributes);
        }).message.find("the loop reached its limit of 3 iterations") != std::string::npos);
  CHECK(first_of(host.call("while", {vector_of({20})}, attributes)) == 160);
  CHECK(failure_of([&] {
          graph.gradient(graph.find("n"), {graph.find("x")});
        }).message.find("a while loop has no gradient: use scan") != std::string::npos);
}

TEST_CASE("control flow: an endless loop ends when the run is stopped") {
  FlowHost host;
  auto graph = Graph::from_json(host, counting);
  graph.output("end", graph.find("n"));
  Session session(graph);
  std::stop_source source;
  source.request_stop();
  CHECK(failure_of([&] {
          session.run({{"x", vector_of({0})}}, RunOptions{.stop = source.get_token()});
        }).message.find("stopped") != std::string::npos);
}

TEST_CASE("control flow: scan and its gradients equal those of the unrolled graph") {
  FlowHost host;
  const auto body = cell_body(host);
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    Graph graph(host), flat(host);
    std::map<std::string, std::vector<std::string>> names;
    for (auto* each : {&graph, &flat}) {
      const auto h = each->input("h", f64, {2, 3}), x = each->input("x", f64, {5, 2, 4});
      const auto w = each->input("w", f64, {4, 3}), u = each->input("u", f64, {3, 3});
      Value last, stacked;
      if (each == &graph) {
        last = each->add("scan", {h, x, w, u},
                         {{"body", body}, {"outputs", 2}, {"reverse", reverse}}, "s");
        stacked = last.output(1);
      } else {
        std::vector<Value> rows(5);
        last = h;
        for (std::int64_t i = 0; i < 5; ++i) {
          const auto row = reverse ? 4 - i : i;
          const auto slice =
              each->add("slice", {x}, {{"begin", {row, 0, 0}}, {"end", {row + 1, 2, 4}}});
          last = cell(*each, last, each->add("reshape", {slice}, {{"shape", {2, 4}}}), w, u);
          rows[static_cast<std::size_t>(row)] =
              each->add("reshape", {each->add("square", {last})}, {{"shape", {1, 2, 3}}});
        }
        stacked = each->add("concat", rows, {{"axis", 0}});
      }
      each->output("last", last);
      each->output("stacked", stacked);
      const auto loss = each->add("add", {each->add("sum", {each->add("sin", {last})}),
                                          each->add("sum", {each->add("sin", {stacked})})});
      const auto grads = each->gradient(loss, {h, x, w, u});
      for (std::size_t i = 0; i < grads.size(); ++i)
        each->output("grad " + std::to_string(i), grads[i]);
      each->output("only last", each->gradient(each->add("sum", {last}), {w})[0]);
      each->output("only stacked", each->gradient(each->add("sum", {stacked}), {h})[0]);
    }
    const NamedTensors inputs{{"h", random_normal(f64, {2, 3}, 1)},
                              {"x", random_normal(f64, {5, 2, 4}, 2)},
                              {"w", random_normal(f64, {4, 3}, 3)},
                              {"u", random_normal(f64, {3, 3}, 4)}};
    const auto made = Session(graph).run(inputs), expected = Session(flat).run(inputs);
    CHECK(made.size() == 8);
    for (const auto& each : expected) {
      const auto& name = each.first;
      const auto& tensor = each.second;
      CAPTURE(name);
      CHECK(tensor.shape() == made.at(name).shape());
      CHECK(all_close(made.at(name), tensor, {.rtol = 1e-12, .atol = 1e-14}));
    }
  }
}

TEST_CASE("control flow: scan without carried values or rows, and with nested control flow") {
  FlowHost host;
  Graph inner(host);
  const auto x = inner.input("x", f32, {2});
  const auto positive = inner.add(
      "greater",
      {inner.add("sum", {x}), inner.constant("zero", Tensor::zeros(f32, Shape::scalar()))});
  inner.output("y",
               inner.add("if", {positive, x},
                         {{"then", one_node(host, "square")}, {"else", one_node(host, "neg")}}));
  const Attributes attributes{{"body", inner.to_json()}, {"carries", 0}};
  const auto rows = Tensor::from<float>({1, 2, -3, -4, 5, 6}, {3, 2});
  CHECK(floats_of(host.call("scan", {rows}, attributes)) == std::vector<float>{1, 4, 3, 4, 25, 36});
  CHECK(host.call("scan", {Tensor::zeros(f32, {0, 2})}, attributes).shape() == Shape{0, 2});
}

TEST_CASE("control flow: graphs that cannot be parameters are refused, naming the node") {
  FlowHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {3}), c = graph.input("c", boolean, Shape::scalar());
  const auto refused = [&](const char* op, const std::vector<Value>& inputs,
                           const Attributes& attributes) {
    return failure_of([&] { graph.add(op, inputs, attributes, "node"); }).message;
  };
  const auto says = [&](const std::string& message, const std::string& part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  const auto square = one_node(host, "square"), sum = one_node(host, "sum");
  says(refused("if", {c, x}, {{"then", square}, {"else", "nothing"}}),
       "in the graph 'else': graph.json:1:2: invalid JSON");
  says(refused("if", {c, x}, {{"then", square}, {"else", sum}}),
       "output 0 is float32 [3] in the graph 'then' but float32 [] in the graph 'else'");
  says(refused("if", {c, x, x}, {{"then", square}, {"else", square}}),
       "the graph 'then' has 1 input but gets 2 values");
  says(refused("if", {c, x}, {{"then", square}, {"else", square}, {"outputs", 2}}),
       "the graph 'then' has 1 output but needs 2");
  says(refused("if", {x, x}, {{"then", square}, {"else", square}}),
       "condition is float32 but must be one of bool");
  says(refused("while", {x}, {{"condition", sum}, {"body", square}}),
       "the graph 'condition' returns float32 [] but must return one boolean");
  says(refused("scan", {x, x}, {{"body", square}}),
       "the graph 'body' has 1 input but gets 2 values");
  Graph two(host);
  const auto h = two.input("h", f32, {-1}), row = two.input("row", f32, Shape::scalar());
  two.output("next", two.add("concat", {h, h}, {{"axis", 0}}));
  two.output("row", row);
  says(
      refused("scan", {x, x}, {{"body", two.to_json()}, {"outputs", 2}}),
      "carried value 0 is float32 [3], but the body returns float32 [6]: types must stay the same");
  says(refused("scan", {x, c}, {{"body", two.to_json()}, {"outputs", 2}}),
       "has no axis to take rows from");
  Graph trained(host);
  trained.output("y", trained.add("mul", {trained.input("x", f32, {3}),
                                          trained.variable("v", Tensor::zeros(f32, {3}))}));
  says(refused("if", {c, x}, {{"then", trained.to_json()}, {"else", square}}),
       "the graph 'then' has the variable 'v'");
  Graph random(host);
  random.output("y", random.add("dropout", {random.input("x", f32, {3})}));
  says(refused("if", {c, x}, {{"then", random.to_json()}, {"else", square}}),
       "the graph 'then' uses the random operator 'dropout'");
}

TEST_CASE(
    "control flow: graph.json names its graphs, uses all of them, and defines those it uses") {
  FlowHost host;
  const std::string text = counting;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return failure_of([&] { Graph::from_json(host, changed); }).message;
  };
  CHECK(replaced("{\"graph\": \"small\"}", "{\"graph\": \"smaller\"}")
            .find("refers to the graph 'smaller', which is not in 'graphs'") != std::string::npos);
  CHECK(replaced("\"small\": {", "\"unused\": {\"tenon\": 1}, \"small\": {")
            .find("no node uses the graph 'unused'") != std::string::npos);
  CHECK(replaced("{\"graph\": \"small\"}", "{\"graph\": \"small\", \"more\": 1}").find("more") !=
        std::string::npos);
}

TEST_CASE("control flow: eager calls of operators with subgraphs do not keep their host alive") {
  auto alive = std::make_shared<int>(1);
  {
    auto options = ApplicationHost::options(1);
    options.warn = [alive](const std::string&) {};
    FlowHost host(std::move(options));
    host.call("if", {boolean_of(true), vector_of({1})},
              {{"then", one_node(host, "square")}, {"else", one_node(host, "neg")}});
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("control flow: branches may return any shapes, and later nodes are planned for them") {
  FlowHost host;
  Graph graph(host);
  const auto c = graph.input("c", boolean, Shape::scalar()), x = graph.input("x", f32, {2});
  const auto part =
      graph.add("branch", {c, x},
                {{"then", parts(host, true)}, {"else", parts(host, false)}, {"outputs", 2}}, "b");
  CHECK(graph.shape(part) == Shape{-1});
  CHECK(graph.shape(part.output(1)) == Shape::scalar());
  graph.output("y", graph.add("mul", {part, part.output(1)}));
  for (const auto& each : {graph, Graph::from_bytes(host, graph.to_bytes()),
                           Graph::from_json(host, graph.to_json())}) {
    Session session(each);
    CHECK(floats_of(session.run({{"c", boolean_of(true)}, {"x", vector_of({1, 2})}}).at("y")) ==
          std::vector<float>{3, 6, 3, 6});
    CHECK(floats_of(session.run({{"c", boolean_of(false)}, {"x", vector_of({1, 2})}}).at("y")) ==
          std::vector<float>{-3, -6});
  }
  CHECK(Graph::from_json(host, graph.to_json()).to_json() == graph.to_json());
  CHECK(failure_of([&] {
          graph.gradient(graph.add("sum", {part}), {x});
        }).message.find("a branch has no gradient: use if") != std::string::npos);
}

TEST_CASE("control flow: a loop runs according to its limit and condition, with growing values") {
  FlowHost host;
  const Attributes attributes{{"body", doubling(host)}, {"carries", 1}, {"outputs", 2}};
  const auto run = [&](std::int64_t limit, bool first, const Tensor& v) {
    return host.call_all("loop", {whole(limit), boolean_of(first), v}, attributes);
  };
  auto made = run(100, true, vector_of({1, 1}));  // sums of 4, 8 and 16
  CHECK(made[0].shape() == Shape{16});
  CHECK(floats_of(made[1]) == std::vector<float>{2, 4, 8});
  made = run(2, true, vector_of({1, 1}));
  CHECK(made[0].shape() == Shape{8});
  CHECK(floats_of(made[1]) == std::vector<float>{2, 4});
  for (const auto& [limit, first] :
       {std::pair(std::int64_t{0}, true), {std::int64_t{-5}, true}, {std::int64_t{9}, false}}) {
    made = run(limit, first, vector_of({1, 7}));
    CHECK(floats_of(made[0]) == std::vector<float>{1, 7});
    CHECK(made[1].shape() == Shape{0});
  }
  Graph graph(host);
  const auto v = graph.input("v", f32, {2}), limit = graph.input("limit", i64, Shape::scalar());
  const auto last =
      graph.add("loop", {limit, graph.constant("go", boolean_of(true)), v}, attributes);
  graph.output("sum", graph.add("sum", {last}));
  graph.output("stacked", last.output(1));
  Session session(graph);
  for (const std::int64_t runs : {1, 3, 0}) {
    const auto results = session.run({{"v", vector_of({1, 1})}, {"limit", whole(runs)}});
    CHECK(first_of(results.at("sum")) == static_cast<float>(2 << runs));
    CHECK(results.at("stacked").shape() == Shape{runs});
  }
}

TEST_CASE("control flow: invalid loops are refused, by the graph or by the run") {
  FlowHost host;
  const auto refused = [&](const std::string& body, int carries = 1) {
    const Attributes attributes{{"body", body}, {"carries", carries}, {"outputs", 2}};
    return failure_of([&] {
             host.call_all("loop", {whole(3), boolean_of(true), vector_of({1, 1})}, attributes);
           })
        .message;
  };
  check_says(refused(doubling(host, true)),
             {"output 1", "[4] in iteration 1", "[2] in iteration 0"});
  CHECK(refused(doubling(host), 3).find("carries") != std::string::npos);
  CHECK(refused(parts(host, true)).find("the graph 'body' has 1 input but gets 3 values") !=
        std::string::npos);
  Graph wrong(host);
  wrong.input("run", i64, Shape::scalar());
  const auto again = wrong.input("again", boolean, Shape::scalar()),
             v = wrong.input("v", f32, {-1});
  wrong.output("again", again);
  wrong.output("next", wrong.add("cast", {v}, {{"dtype", "int32"}}));
  wrong.output("stacked", again);
  check_says(refused(wrong.to_json()), {"carried value 0 is float32 [2]", "returns int32 [2]"});
}

TEST_CASE("control flow: inference of nested loops with growing values is limited") {
  FlowHost host;
  static constexpr int values = 10;
  // carries all; the first one grows, and each other one is the previous value of the one before it
  const auto add_loop = [](Graph& graph, const std::string& body) {
    const auto start = graph.constant("start", vector_of({1}));
    std::vector<Value> inputs{graph.constant("limit", whole(1)),
                              graph.constant("go", boolean_of(true))};
    inputs.resize(2 + values, start);
    return graph.add("loop", inputs, {{"body", body}, {"carries", values}, {"outputs", values}});
  };
  const auto body_of = [&](const std::string& inner) {
    Graph graph(host);
    graph.input("run", i64, Shape::scalar());
    const auto again = graph.input("again", boolean, Shape::scalar());
    std::vector<Value> carried;
    for (int i = 0; i < values; ++i)
      carried.push_back(graph.input("v" + std::to_string(i), f32, {-1}));
    if (!inner.empty()) add_loop(graph, inner);
    graph.output("again", again);
    graph.output("first", graph.add("concat", {carried[0], carried[0]}, {{"axis", 0}}));
    for (std::size_t i = 1; i < values; ++i) graph.output("n" + std::to_string(i), carried[i - 1]);
    return graph.to_json();
  };
  std::string body;
  for (int depth = 0; depth < 3; ++depth) body = body_of(body);
  Graph fits(host);
  CHECK(fits.shape(add_loop(fits, body)) == Shape{-1});
  const auto failure = failure_of([&] {
    const auto deeper = body_of(body);
    Graph graph(host);
    add_loop(graph, deeper);
  });
  CHECK(failure.message.find("did not finish within 2000 inferences of their bodies") !=
        std::string::npos);
}

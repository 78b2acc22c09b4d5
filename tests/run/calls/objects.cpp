// Graph::udf runs the class and object passed to it, and reports members that a file cannot store.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

template <class Self>
void map_elements(const Call& call, Self function) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = function(x[i]);
}

/// Adds a number from a table, which is not a parameter.
struct FromTable : Operator {
  std::int32_t index = 0;
  const std::vector<float>* table = nullptr;  // a class is a literal type and cannot own it
  static constexpr void describe(auto& op) {
    op.doc("x + table[index]");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "the shape of x");
    op.param("index", &FromTable::index, "which number");
  }
  void forward(const Call& call) const {
    if (!table) throw Error("there is no table");
    map_elements(call, [&](float x) { return x + (*table)[static_cast<std::size_t>(index)]; });
  }
  void gradient(Gradient& g) const { g.set_input_grad(0, g.output_grad(0)); }
};

/// The application's own square, not the bundled one.
struct Square : Operator {
  bool negative = false;  // followed by padding
  double scale = 1;
  static constexpr void describe(auto& op) {
    op.doc("x + 100");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "the shape of x");
    op.param("scale", &Square::scale, "not used");
    op.param("negative", &Square::negative, "not used");
  }
  void forward(const Call& call) const {
    map_elements(call, [](float x) { return x + 100; });
  }
};

template <int N>
struct Raised : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x + N");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "the shape of x");
  }
  void forward(const Call& call) const {
    map_elements(call, [](float x) { return x + N; });
  }
};

namespace first_vendor {
struct Mine : Raised<1> {};
}  // namespace first_vendor
namespace second_vendor {
struct Mine : Raised<2> {};
}  // namespace second_vendor

struct ObjectHost : ApplicationHost {
  std::vector<std::string> warnings;
  ObjectHost() : ApplicationHost(options(1, warnings)) {}
};

/// x times the square of a parameter, which configure() computes.
struct Tripled : Operator {
  float factor = 1, square = 0, extra = 0;
  static constexpr void describe(auto& op) {
    op.doc("x factor^2");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &Tripled::factor, "factor");
  }
  void configure() { square = factor * factor; }
  void forward(const Call& call) const {
    call.output<float>(0)[0] = square * call.input<float>(0)[0];
  }
};

/// Like Tripled, with a pointer, which differs between objects.
struct DeclaredTripled : Tripled {
  const float* start = nullptr;
  static constexpr void describe(auto& op) {
    Tripled::describe(op);
    op.derived(&DeclaredTripled::square, &DeclaredTripled::extra, &DeclaredTripled::start);
  }
  void configure() {
    Tripled::configure();
    start = &factor;
  }
};

/// With padding around what configure() computes, or with a member that owns memory.
template <bool has_text>
struct PaddedTripled : Operator {
  bool negative = false;  // not a parameter; padding could be here
  double factor = 1;
  float square = 0;
  std::conditional_t<has_text, Text, bool> parameter{};
  static constexpr void describe(auto& op) {
    op.doc("x factor^2, or its negative");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &PaddedTripled::factor, "factor");
    op.param("parameter", &PaddedTripled::parameter, "not used");
  }
  void configure() { square = static_cast<float>(factor * factor); }
  void forward(const Call& call) const {
    call.output<float>(0)[0] = (negative ? -square : square) * call.input<float>(0)[0];
  }
};
struct PaddedPlain : PaddedTripled<false> {};
struct PaddedText : PaddedTripled<true> {};

template <class Op>
float run_on(Host& host, const Op& op, float x) {
  Graph graph(host);
  graph.output("y", graph.udf(op, {graph.input("x", f32, {1})}));
  Session session(graph);
  return first_of(session.run({{"x", vector_of({x})}}).at("y"));
}

}  // namespace

TEST_CASE("objects: nodes run on copies of the object, including members that are not parameters") {
  ObjectHost host;
  const std::vector<float> tens{10, 20}, more{30, 40}, five{5};
  FromTable op{{}, 1, &tens};
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1}));
  const auto first = graph.udf(op, {x}, "first");
  op.table = &more;
  op.index = 0;
  const auto second = graph.udf(op, {first}, "second");
  graph.output("y", second);
  graph.output("dx", graph.gradient(second, {x})[0]);
  op.table = nullptr;
  Session session(graph);
  CHECK(first_of(session.run({}).at("y")) == 1 + 20 + 30);
  CHECK(first_of(session.run({}).at("dx")) == 1);
  Session of_clone(graph.clone());
  CHECK(first_of(of_clone.run({}).at("y")) == 1 + 20 + 30);
  // A failed node leaves nothing: the next one has its own object.
  CHECK(failure_of([&] { graph.udf(op, {x, x}); }).kind != 0);
  op.table = &five;
  graph.output("z", graph.udf(op, {x}, "third"));
  CHECK(first_of(Session(graph).run({}).at("z")) == 1 + 5);
}

TEST_CASE("objects: a file records which nodes ran on objects with more than parameters") {
  ObjectHost host;
  Graph graph(host);
  const std::vector<float> ten{10};
  const FromTable op{{}, 0, &ten};
  graph.output(
      "y", graph.udf(Square{}, {graph.udf(op, {graph.input("x", f32, {1})}, "taken")}, "whole"));
  const std::string lost =
      "node 'taken' ran on an object of class FromTable, whose members other than parameters are "
      "not in the file: they "
      "have their initial values";
  const auto bytes = graph.to_bytes();
  const auto text = graph.to_json();
  CHECK(host.warnings.empty());
  auto loaded = Graph::from_bytes(host, bytes, "g.tenon");
  CHECK(host.warnings == std::vector<std::string>{"g.tenon: " + lost});
  Session session(loaded);
  CHECK(failure_of([&] {
          session.run({{"x", vector_of({1})}});
        }).message.find("there is no table") != std::string::npos);
  Graph::from_json(host, text);
  REQUIRE(host.warnings.size() == 2);
  CHECK(host.warnings[1] == "graph.json: " + lost);
}

TEST_CASE("objects: members that are computed from the parameters are not lost") {
  ObjectHost host;
  const auto lost = [&](const auto& op) {
    Graph graph(host);
    graph.output("y", graph.udf(op, {graph.input("x", f32, {1})}));
    const auto before = host.warnings.size();
    auto loaded = Graph::from_bytes(host, graph.to_bytes());
    CHECK(first_of(Session(loaded).run({{"x", vector_of({1})}}).at("y")) == 9);
    return host.warnings.size() > before;
  };
  Tripled op;
  op.factor = 3;
  CHECK(!lost(op));  // configure() was not called yet
  op.configure();
  CHECK(!lost(op));
  op.extra = 1;
  CHECK(lost(op));
  DeclaredTripled declared;
  declared.factor = 3;
  CHECK(!lost(declared));
  const auto check_padded = [&]<class Padded>(Padded) {
    alignas(Padded) unsigned char memory[sizeof(Padded)];
    std::ranges::fill(memory, static_cast<unsigned char>(0x55));
    auto* padded = new (memory) Padded;
    padded->factor = 3;
    CHECK(!lost(*padded));
    padded->negative = true;
    CHECK(lost(*padded));
    padded->~Padded();
  };
  check_padded(PaddedPlain());
  check_padded(PaddedText());
}

TEST_CASE("objects: classes with the same short name are distinguished or refused") {
  ObjectHost host;
  CHECK(run_on(host, first_vendor::Mine(), 1) == 2);
  CHECK(run_on(host, first_vendor::Mine(), 1) == 2);
  const auto refused = failure_of([&] { run_on(host, second_vendor::Mine(), 1); });
  CHECK(refused.kind == 2);
  check_says(refused.message, {"class 'Mine'", "'app.mine'", "name is taken"});
  check_says(refused.hint, {"under its own name", "host.add<Mine>(\"NAME\")"});
  host.add<second_vendor::Mine>("second_mine");
  CHECK(run_on(host, second_vendor::Mine(), 1) == 3);
  CHECK(run_on(host, first_vendor::Mine(), 1) == 2);
}

TEST_CASE("objects: a class never replaces a plugin's operator") {
  ObjectHost host;
  struct Other : Raised<7> {};
  host.add<Other>("square");  // like a plugin
  CHECK(failure_of([&] {
          run_on(host, Square(), 3);
        }).message.find("would become operator 'app.square'") != std::string::npos);
  host.add<Square>("my_square");
  CHECK(run_on(host, Square(), 3) == 103);
}

TEST_CASE("objects: class templates have the names that the author sets") {
  ObjectHost host;
  const auto refused = failure_of([&] { run_on(host, Raised<3>(), 1); });
  CHECK(refused.message == "the class name 'Raised<3>' is not a valid operator name");
  check_says(refused.hint, {"under its own name", "host.add<Raised<3>>(\"NAME\")"});
  host.add<Raised<3>>("raised_3");
  host.add<Raised<4>>("raised_4");
  CHECK(run_on(host, Raised<3>(), 1) == 4);
  CHECK(run_on(host, Raised<4>(), 1) == 5);
}

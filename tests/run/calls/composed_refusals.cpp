// Invalid composed operators and their error messages.
#include <doctest/doctest.h>

#include <string>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

enum class Fault {
  none,
  itself,
  through_other,
  missing,
  inner,
  unset,
  twice,
  foreign,
  empty,
  many,
  throws,
  state,
  weight,
  parameter
};
Fault injected_fault = Fault::none;
Compose::Value stored_value;

struct Faulty : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x, unless a fault is requested");
    op.input("x", "[n]");
    op.input("y", "[m]").optional();
    op.output("z", "same shape as x");
  }
  void forward(Compose& c) const {
    auto x = c.input("x");
    switch (injected_fault) {
      case Fault::itself:
        x = c.add("faulty", {x});
        break;
      case Fault::through_other:
        x = c.add("other_faulty", {x});
        break;
      case Fault::missing:
        x = c.add("no_such_operatr", {x});
        break;
      case Fault::inner:
        x = c.add("test_add", {x, c.input("y")});
        break;
      case Fault::unset:
        return;
      case Fault::twice:
        c.set_output("z", x);
        break;
      case Fault::foreign:
        x = stored_value;
        break;
      case Fault::empty:
        x = Compose::Value();
        break;
      case Fault::many:
        for (int i = 0; i < 10'000'000; ++i) x = c.add("quadratic", {x});
        break;
      case Fault::throws:
        throw 7;
      case Fault::state:
        x = c.add("counter", {x});
        break;
      case Fault::weight:
        x = c.add("scaled_by_weight", {x});
        break;
      case Fault::parameter:
        x = c.add("quadratic", {x}, {{"aa", 1}});
        break;
      case Fault::none:
        for (int i = 0; i < 40; ++i) stored_value = c.add("quadratic", {x});
    }
    c.set_output("z", x);
  }
};

struct OtherFaulty : Operator {
  static constexpr void describe(auto& op) {
    op.doc("composed of faulty");
    op.input("x", "[n]");
    op.output("z", "same shape as x");
  }
  void forward(Compose& c) const { c.set_output(0, c.add("faulty", {c.input(0)})); }
};

/// Needs a weight that is not connected.
struct ScaledByWeight : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x");
    op.types({f32});
    op.input("x", "[n]");
    op.input("weight", "[n]").optional().weight();
    op.output("y", "[n]");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_input(1, io.input(0).shape);
  }
  void forward(const Call&) const {}
};

/// Composed of one other operator.
struct Link : Operator {
  static constexpr int count = 20;
  int next = 0;

  static constexpr void describe(auto& op) {
    op.doc("the next link");
    op.input("x", "[n]");
    op.output("z", "same shape as x");
  }
  void forward(Compose& c) const {
    c.set_output(0, c.add("link" + std::to_string(next), {c.input(0)}));
  }
};

struct FaultyHost : ApplicationHost {
  FaultyHost() {
    add<Faulty>("faulty");
    add<OtherFaulty>("other_faulty");
    add<ScaledByWeight>("scaled_by_weight");
  }
  ~FaultyHost() { injected_fault = Fault::none; }
};

/// The error of adding the node, whose y and x differ in length.
std::string message_for(Fault fault, Host& host, std::string* hint = nullptr) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {2}), y = graph.input("y", f32, {3});
  injected_fault = fault;
  const auto failure = failure_of([&] { graph.add("faulty", {x, y}, {}, "node"); });
  CHECK(graph.nodes().size() == (fault == Fault::none ? 1 : 0));
  if (hint != nullptr) *hint = failure.hint;
  return failure.message;
}

}  // namespace

TEST_CASE(
    "composed operators: each fault is refused when the node is added, naming node and operators") {
  FaultyHost host;
  CHECK(message_for(Fault::none, host).empty());
  const std::pair<Fault, const char*> cases[] = {
      {Fault::itself,
       "[faulty] node 'faulty/faulty': the composed operator 'app.faulty' contains itself: "
       "app.faulty -> app.faulty"},
      {Fault::through_other,
       "[other_faulty] node 'faulty/other_faulty': [faulty] node 'other_faulty/faulty': the "
       "composed operator 'app.faulty' contains "
       "itself: app.faulty -> app.other_faulty -> app.faulty"},
      {Fault::inner,
       "[test_add] node 'faulty/test_add': left is [2] but right is [3] (left float32 [2], right "
       "float32 [3])"},
      {Fault::unset, "its forward() does not set output 'z'"},
      {Fault::twice, "its forward() sets output 0 twice"},
      {Fault::foreign, "its forward() passes a value that does not belong to this graph"},
      {Fault::empty, "its forward() sets an output to an empty value"},
      {Fault::many, "its forward() adds more than 20000 nodes"},
      {Fault::throws, "an exception was thrown that is not a std::exception"},
      {Fault::state,
       "its forward() adds 'counter', which has states; composed operators cannot have states"},
      {Fault::weight,
       "its forward() adds 'scaled_by_weight', which creates the implicit variable "
       "'faulty/scaled_by_weight_weight'"},
      {Fault::parameter, "[quadratic] node 'faulty/quadratic': unknown parameter 'aa'"},
  };
  for (const auto& [fault, sentence] : cases)
    CHECK(message_for(fault, host) == std::string("[faulty] node 'node': ") + sentence);
  std::string hint;
  CHECK(message_for(Fault::missing, host).find("[faulty] node 'node': ") == 0);
  CHECK(message_for(Fault::missing, host).find("no_such_operatr") != std::string::npos);
  message_for(Fault::weight, host, &hint);
  check_says(hint, {"add an input for it", ".weight()", "disable it with a parameter"});
}

TEST_CASE("composed operators: the message about a long chain shows at most 16 of its operators") {
  ApplicationHost host;
  for (int i = 0; i < Link::count; ++i)
    host.add<Link>("link" + std::to_string(i), [i] {
      Link made;
      made.next = (i + 1) % Link::count;
      return made;
    });
  Graph graph(host);
  const auto x = graph.input("x", f32, {2});
  const auto message = failure_of([&] { graph.add("link0", {x}); }).message;
  CHECK(message.find("contains itself: app.link0 -> app.link1 -> ") != std::string::npos);
  CHECK(message.ends_with("app.link14 -> 4 more -> app.link19 -> app.link0"));
}

TEST_CASE("composed operators: eager calls refuse the same faults") {
  FaultyHost host;
  injected_fault = Fault::inner;
  check_says(failure_of([&] {
               host.call("faulty", {vector_of({1}), vector_of({1, 2})});
             }).message,
             {"[faulty] [test_add] node 'faulty/test_add':", "left is [1]", "right is [2]"});
  injected_fault = Fault::none;
  CHECK(host.call("faulty", {vector_of({3})}).values<float>()[0] == 3);
}

TEST_CASE("composed operators: an inner node without a gradient is named") {
  FaultyHost host;
  Graph graph(host);
  const auto x = graph.variable("x", vector_of({1, 2}));
  injected_fault = Fault::none;
  const auto y = graph.add("faulty", {x}, {}, "node");
  CHECK(graph.gradient(y, {x}).size() == 1);
}

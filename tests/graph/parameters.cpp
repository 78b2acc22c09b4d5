// Bounds of each kind of parameter, and parameter records in any order.
#include "graph/parameters.hpp"

#include <doctest/doctest.h>

#include <tenon/host/attribute_map.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "file/sample_graph.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

/// One parameter for each kind of bound, each with a single bound.
struct Bounded : probes::Copy {
  std::int64_t least = 2, most = 2;
  double above = 2, below = 2;
  Ints wholes = {2};
  Floats reals = {2};

  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("least", &Bounded::least, "from 1").at_least(1);
    op.param("most", &Bounded::most, "to 3").at_most(3);
    op.param("above", &Bounded::above, "above 1").greater_than(1);
    op.param("below", &Bounded::below, "below 3").less_than(3);
    op.param("wholes", &Bounded::wholes, "each to 3").at_most(3);
    op.param("reals", &Bounded::reals, "each above 1").greater_than(1);
  }
};

struct BoundedHost : ApplicationHost {
  BoundedHost() { add<Bounded>("bounded"); }
};

}  // namespace

TEST_CASE("parameters: each bound is enforced by itself, including its limit") {
  BoundedHost host;
  const auto x = Tensor::from<float>({1, 2}, {2});
  const struct {
    const char* name;
    AttributeValue good, bad;
    const char* message;
  } cases[] = {
      {"least", 1, 0, "parameter 'least' is 0 but must be at least 1"},
      {"most", 3, 4, "parameter 'most' is 4 but must be at most 3"},
      {"above", 1.5, 1.0, "parameter 'above' is 1 but must be above 1"},
      {"below", 2.5, 3.0, "parameter 'below' is 3 but must be below 3"},
      {"wholes", {3, 3}, {3, 4}, "element 1 of parameter 'wholes' is 4 but must be at most 3"},
      {"reals", {1.5, 2.0}, {1.5, 1.0}, "element 1 of parameter 'reals' is 1 but must be above 1"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.name);
    Attributes good, bad;
    good.set(test.name, test.good);
    bad.set(test.name, test.bad);
    CHECK_NOTHROW(host.call("bounded", {x}, good));
    const auto failure = failure_of([&] { host.call("bounded", {x}, bad); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == "[bounded] " + std::string(test.message));
  }
}

TEST_CASE("parameters: messages show few elements of a long list") {
  BoundedHost host;
  const auto x = Tensor::from<float>({1, 2}, {2});
  const struct {
    AttributeValue value;
    const char* shown;
  } cases[] = {
      {std::vector<std::int64_t>(1000, 7),
       "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 and 984 more]"},
      {std::vector<double>(17, 0.5), ", 0.5 and 1 more]"},
      {std::vector<std::string>(17, "a"), "\"a\", \"a\" and 1 more]"},
      {std::vector<std::int64_t>(2, 7), "[7, 7]"},
      {std::vector<std::int64_t>(), "[]"},
      {Tensor::zeros(f32, {1000}), "float32 [1000]"},
      {Tensor::zeros(f32, {2}), "float32 [2] {0, 0}"},
  };
  for (const auto& [value, shown] : cases) {
    CAPTURE(std::string(shown));
    Attributes attributes;
    attributes.set("least", value);
    const auto message = failure_of([&] { host.call("bounded", {x}, attributes); }).message;
    CHECK(message.find(shown + std::string(" but must be an integer")) != std::string::npos);
  }
}

TEST_CASE("parameters: integers in a list may be written as decimals") {
  BoundedHost host;
  const auto x = Tensor::from<float>({1, 2}, {2});
  CHECK_NOTHROW(host.call("bounded", {x}, {{"wholes", std::vector<double>{1.0, -2.0}}}));
  check_says(
      failure_of([&] {
        host.call("bounded", {x}, {{"wholes", std::vector<double>{1.0, 2.5}}});
      }).message,
      {"[bounded] parameter 'wholes' is [1, 2.5]", "a list of integers", "element 1 is 2.5"});
}

TEST_CASE("parameters: accepts the names of non-finite numbers, and no other words") {
  BoundedHost host;
  const auto x = Tensor::from<float>({1, 2}, {2});
  CHECK_NOTHROW(host.call("bounded", {x}, {{"above", "inf"}}));
  CHECK_NOTHROW(host.call("bounded", {x}, {{"below", "-inf"}}));
  CHECK(failure_of([&] {
          host.call("bounded", {x}, {{"above", "-inf"}});
        }).message == "[bounded] parameter 'above' is -inf but must be above 1");
  CHECK(failure_of([&] {
          host.call("bounded", {x}, {{"above", "nan"}});
        }).message == "[bounded] parameter 'above' is nan but must be above 1");
  for (const char* word : {"fast", "", "Inf", "infinity"})
    CHECK(failure_of([&] {
            host.call("bounded", {x}, {{"above", word}});
          }).message ==
          "[bounded] parameter 'above' is \"" + std::string(word) + "\" but must be a number");
}

TEST_CASE("parameters: records are matched to the declaration by name, in any order") {
  const auto error_of = [](const std::vector<std::pair<const char*, AttributeValue>>& records) {
    GraphMaker make;
    const auto op = make.op({"thing", {"x"}, {"y"}, {}, {{"a", "text"}, {"b", "int64"}}});
    const auto x = make.value("x", Role::input, type_of(f32, {1}));
    for (const auto& [name, value] : records) make.attribute(name, value);
    const auto node = make.node("n", op, {x}, 1, static_cast<std::uint32_t>(records.size()));
    return failure_of([&] {
             check_parameters(make.model, make.model.nodes[node], *make.model.operators[op].info);
           })
        .message;
  };
  CHECK(error_of({{"a", "word"}, {"b", 1}}) == "");
  CHECK(error_of({{"b", 1}, {"a", "word"}}) == "");
  CHECK(error_of({{"b", 1}}) == "");
  CHECK(error_of({{"b", "word"}, {"a", "word"}}) ==
        "parameter 'b' is \"word\" but must be an integer");
  CHECK(error_of({{"c", 1}}).find("'c'") != std::string::npos);
}

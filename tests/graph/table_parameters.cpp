// Parameters that are small tensors or lists of strings: conversion and validation.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using namespace tenon;
using Words = std::vector<std::string>;

namespace {

/// Its outputs return the parameters: one number for each element or byte.
struct ReturnsParameters : Operator {
  Table<float> taps = {0.5, 2};
  Table<std::int32_t> sizes;
  Table<std::int64_t> wide;
  Table<double> exact;
  Texts names = {"mean", "sum"};
  Texts any;

  static constexpr void describe(auto& op) {
    op.doc("the parameters");
    op.types({f32});
    op.input("x", "any shape");
    op.output("taps", "float64");
    op.output("sizes", "int64");
    op.output("wide", "int64");
    op.output("exact", "float64");
    op.output("names", "int64, characters with a 0 after each name");
    op.output("any", "like names");
    op.param("taps", &ReturnsParameters::taps, "floats").greater_than(0);
    op.param("sizes", &ReturnsParameters::sizes, "32 bits").at_most(9);
    op.param("wide", &ReturnsParameters::wide, "64 bits");
    op.param("exact", &ReturnsParameters::exact, "doubles");
    op.param("names", &ReturnsParameters::names, "choices").one_of({"mean", "sum", "max"});
    op.param("any", &ReturnsParameters::any, "texts");
  }
  void infer(Infer& io) const {
    io.set_output(0, taps.shape(), f64);
    io.set_output(1, sizes.shape(), i64);
    io.set_output(2, wide.shape(), i64);
    io.set_output(3, exact.shape(), f64);
    io.set_output(4, {static_cast<std::int64_t>(characters(names).size())}, i64);
    io.set_output(5, {static_cast<std::int64_t>(characters(any).size())}, i64);
  }
  void forward(const Call& call) const {
    std::copy(taps.begin(), taps.end(), call.output<double>(0).begin());
    std::copy(sizes.begin(), sizes.end(), call.output<std::int64_t>(1).begin());
    std::copy(wide.begin(), wide.end(), call.output<std::int64_t>(2).begin());
    std::copy(exact.begin(), exact.end(), call.output<double>(3).begin());
    const auto said = characters(names), more = characters(any);
    std::copy(said.begin(), said.end(), call.output<std::int64_t>(4).begin());
    std::copy(more.begin(), more.end(), call.output<std::int64_t>(5).begin());
  }
  static std::string characters(const Texts& texts) {
    std::string all;
    for (const Text& text : texts) all += std::string(std::string_view(text)) + '\0';
    return all;
  }
};

struct ParametersHost : ApplicationHost {
  ParametersHost() { add<ReturnsParameters>("returns_parameters"); }

  std::string given(const char* name, const AttributeValue& value) {
    const char* names[] = {"taps", "sizes", "wide", "exact", "names", "any"};
    Attributes attributes;
    attributes.set(name, value);
    const auto outputs = call_all("returns_parameters", {Tensor::zeros(f32, {1})}, attributes);
    return outputs[static_cast<std::size_t>(std::find(names, names + 6, std::string_view(name)) -
                                            names)]
        .to_string();
  }
  std::string refused(const char* name, const AttributeValue& value) {
    return failure_of([&] { given(name, value); }).message;
  }
};

}  // namespace

TEST_CASE("table parameters: numbers and tensors reach the operator in its dtype") {
  ParametersHost host;
  const auto grid = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  CHECK(host.given("taps", {1, 2, 1}) == "float64 [3]  1 2 1");
  CHECK(host.given("taps", {0.5, 2}) == "float64 [2]  0.5 2");
  CHECK(host.given("taps", {0.1, 2}) == "float64 [2]  0.10000000149011612 2");
  CHECK(host.given("taps", {}) == "float64 [0]");
  CHECK(host.given("taps", grid) == "float64 [2, 2]  1 2 3 4");
  CHECK(host.given("taps", Tensor::from<double>({0.25}, Shape::scalar())) == "float64 []  0.25");
  CHECK(host.given("taps", Tensor::zeros(f32, {0, 3})) == "float64 [0, 3]");
  CHECK(host.given("sizes", {1, -7}) == "int64 [2]  1 -7");
  CHECK(host.given("sizes", std::vector<double>{1, -7}) == "int64 [2]  1 -7");
  CHECK(host.given("sizes", Tensor::from<std::uint8_t>({9, 2}, {1, 2})) == "int64 [1, 2]  9 2");
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(host.given("wide", {most, -most - 1}) ==
        "int64 [2]  9223372036854775807 -9223372036854775808");
  CHECK(host.given("exact", {0.1}) == "float64 [1]  0.1");
  CHECK(host.given("exact", Tensor::from<float>({0.5F}, {1})) == "float64 [1]  0.5");
  const std::vector<std::int64_t> ones(65536, 1);
  CHECK(host.given("wide", ones).starts_with("int64 [65536]  1 1"));
}

TEST_CASE("table parameters: strided tensors are read in row-major order") {
  ParametersHost host;
  float numbers[] = {1, 2, 3, 4, 5, 6};
  const std::int64_t strides[] = {1, 3};
  CHECK(host.given("taps", Tensor::borrow(numbers, f32, {3, 2}, strides)) ==
        "float64 [3, 2]  1 4 2 5 3 6");
}

TEST_CASE("table parameters: refuses lossy conversions") {
  ParametersHost host;
  const std::string says = "[returns_parameters] parameter ";
  const std::vector<std::int64_t> many(65537, 1);
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(host.refused("sizes", {1, 2.5}) ==
        says + "'sizes' is [1, 2.5], which cannot be converted to an int32 tensor without loss");
  CHECK(
      host.refused("sizes", {1, 3000000000}) ==
      says +
          "'sizes' is [1, 3000000000], which cannot be converted to an int32 tensor without loss");
  CHECK(host.refused("sizes", std::vector<double>{nan}) ==
        says + "'sizes' is [nan], which cannot be converted to an int32 tensor without loss");
  CHECK(host.refused("wide", std::vector<double>{0x1p63}) ==
        says +
            "'wide' is [9.223372036854776e+18], which cannot be converted to an int64 tensor "
            "without loss");
  CHECK(host.refused("wide", Tensor::from<std::uint64_t>({std::uint64_t{1} << 63}, {1})) ==
        says + "'wide' is uint64 [1], which cannot be converted to an int64 tensor without loss");
  CHECK(host.refused("taps", {16777217}) ==
        says + "'taps' is [16777217], which cannot be converted to a float32 tensor without loss");
  CHECK(host.refused("taps", {1e300}) ==
        "[returns_parameters] element 0 of parameter 'taps' is 1e+300 but must fit a 32-bit float");
  CHECK(host.refused("taps", Tensor::from<double>({0.1}, {1})) ==
        says + "'taps' is float64 [1], which cannot be converted to a float32 tensor without loss");
  CHECK(host.refused("taps", Tensor::from<bool>({true}, {1})) ==
        says + "'taps' is bool [1], which cannot be converted to a float32 tensor without loss");
  CHECK(host.refused("exact", {(std::int64_t{1} << 53) + 1}) ==
        says +
            "'exact' is [9007199254740993], which cannot be converted to a float64 tensor without "
            "loss");
  CHECK(host.refused("taps", 1.5) == says + "'taps' is 1.5 but must be a float32 tensor");
  CHECK(host.refused("taps", "1,2") == says + "'taps' is \"1,2\" but must be a float32 tensor");
  CHECK(host.refused("wide", many) == says +
                                          "'wide' has 65537 elements, but a tensor parameter holds "
                                          "at most 65536: make it an input");
  CHECK(host.refused("taps", Tensor::zeros(f32, {257, 256})) ==
        says +
            "'taps' has 65792 elements, but a tensor parameter holds at most 65536: make it an "
            "input");
}

TEST_CASE("table parameters: bounds apply to each element") {
  ParametersHost host;
  CHECK(host.refused("taps", {1, 0, 2}) ==
        "[returns_parameters] element 1 of parameter 'taps' is 0 but must be above 0");
  CHECK(host.refused("taps", Tensor::from<float>({1, 2, 3, -1}, {2, 2})) ==
        "[returns_parameters] element 3 of parameter 'taps' is -1 but must be above 0");
  CHECK(host.refused("taps", std::vector<double>{NAN}) ==
        "[returns_parameters] element 0 of parameter 'taps' is nan but must be above 0");
  CHECK(host.refused("sizes", {9, 10}) ==
        "[returns_parameters] element 1 of parameter 'sizes' is 10 but must be at most 9");
}

TEST_CASE("table parameters: a node's tensor cannot be modified") {
  ParametersHost host;
  auto elements = Tensor::from<float>({1, 2}, {2});
  Graph graph(host);
  graph.output("y",
               graph.add("returns_parameters", {graph.input("x", f32, {1})}, {{"taps", elements}}));
  elements.data<float>()[0] = 7;
  const auto info = graph.nodes();
  for (const auto& [name, value] : info[0].attributes)
    if (name == "taps") CHECK(to_string(value) == "float32 [2] {1, 2}");
}

TEST_CASE("table parameters: eager calls distinguish values of the same type") {
  ParametersHost host;
  auto elements = Tensor::from<float>({1, 2}, {2});
  CHECK(host.given("taps", elements) == "float64 [2]  1 2");
  elements.data<float>()[1] = 3;
  CHECK(host.given("taps", elements) == "float64 [2]  1 3");
  CHECK(host.given("taps", elements.reshape({1, 2})) == "float64 [1, 2]  1 3");
  CHECK(host.given("any", {"ab", "c"}) == "int64 [5]  97 98 0 99 0");
  CHECK(host.given("any", {"a", "bc"}) == "int64 [5]  97 0 98 99 0");
}

TEST_CASE("string list parameters: each string reaches the operator") {
  ParametersHost host;
  CHECK(host.given("names", {"max"}) == "int64 [4]  109 97 120 0");
  CHECK(host.given("any", Words{"", "ü"}) == "int64 [4]  0 -61 -68 0");
  CHECK(host.given("any", {}) == "int64 [0]");
  CHECK(host.given("any", Words{}) == "int64 [0]");
  CHECK(host.given("any", Words(32, "a")).starts_with("int64 [64]  97 0"));
}

TEST_CASE("string list parameters: refuses invalid values") {
  ParametersHost host;
  CHECK(host.refused("names", {"sum", "min"}) ==
        "[returns_parameters] element 1 of parameter 'names' is \"min\" but must be one of mean, "
        "sum, max");
  CHECK(host.refused("names", "sum") ==
        "[returns_parameters] parameter 'names' is \"sum\" but must be a list of texts");
  CHECK(host.refused("names", {1, 2}) ==
        "[returns_parameters] parameter 'names' is [1, 2] but must be a list of texts");
  CHECK(host.refused("any", Words{"a", std::string("b\0c", 3)}) ==
        "[returns_parameters] element 1 of parameter 'any' contains a zero byte, which would end "
        "the text early");
  CHECK(host.refused("any", Words{"\xff"}).find("element 0 of parameter 'any'") !=
        std::string::npos);
  CHECK(host.refused("any", Words(33, "a"))
            .find("parameter 'any' has 33 values, but a list parameter holds at most 32") !=
        std::string::npos);
}

TEST_CASE("attributes: braced strings are a list, a single string is not") {
  const Attributes attributes{{"two", {"a", "b"}},
                              {"one", {"a"}},
                              {"text", "a"},
                              {"none", {}},
                              {"mixed", {std::string("a"), "b"}}};
  const AttributeValue expected[] = {Words{"a", "b"}, Words{"a"}, "a", std::vector<std::int64_t>{},
                                     Words{"a", "b"}};
  std::size_t at = 0;
  for (const auto& entry : attributes) {
    CAPTURE(entry.first);
    CHECK(entry.second == expected[at++]);
  }
  CHECK(to_string(AttributeValue(Words{"a", "b"})) == "[\"a\", \"b\"]");
  CHECK(to_string(AttributeValue(Words{})) == "[]");
  Attributes more;
  more.set("names", {"a", "b"});
  CHECK(more.begin()->second == AttributeValue(Words{"a", "b"}));
}

TEST_CASE("attributes: tensors are equal by dtype, shape and bits") {
  const auto values = [](std::vector<float> numbers, const Shape& shape) {
    return AttributeValue(Tensor::from(numbers, shape));
  };
  CHECK(values({1, NAN}, {2}) == values({1, NAN}, {2}));
  CHECK_FALSE(values({0}, {1}) == values({-0.0F}, {1}));
  CHECK_FALSE(values({1, 2}, {2}) == values({1, 2}, {1, 2}));
  CHECK_FALSE(AttributeValue(Tensor::zeros(f32, {2})) == AttributeValue(Tensor::zeros(i32, {2})));
  CHECK_FALSE(AttributeValue(Tensor::zeros(f32, {2})) == AttributeValue(std::vector<double>{0, 0}));
  CHECK(failure_of([] { AttributeValue{Tensor()}; }).kind == 2);
}

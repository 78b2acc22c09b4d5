// Every backward kernel of the elementwise, reducing and shaping plugins against central
// differences of its own forward in double, which the other files compare with oracles.
#include <doctest/doctest.h>

#include <cmath>

#include "plugins/check.hpp"

namespace {
/// The operator's forward as an oracle for its gradient.
Oracle own_forward(const Case& test) {
  std::vector<tenon::DType> dtypes;
  for (const auto& input : test.inputs) dtypes.push_back(input.type().dtype);
  return [=, plugin = test.plugin, op = test.op,
          attributes = test.attributes](const std::vector<DoubleArray>& inputs) {
    std::vector<Array> arrays, states;
    for (std::size_t i = 0; i < inputs.size(); ++i) arrays.emplace_back(dtypes[i], inputs[i]);
    std::vector<DoubleArray> outputs;
    for (const auto& output : PluginOperator(plugin, op, attributes).forward(arrays, states, {}))
      outputs.push_back(output.doubles());
    return outputs;
  };
}

struct GradientRow {
  std::string op;
  tenon::Attributes attributes;
  std::vector<Array> inputs;
};

void check_gradients(const std::string& plugin, const std::vector<GradientRow>& rows) {
  for (const auto& row : rows) {
    Case test{tenon::to_string(row.inputs[0].type().shape),
              plugin,
              row.op,
              row.attributes,
              row.inputs,
              {}};
    test.oracle = own_forward(test);
    test.tolerance = 1e-7;
    for (std::size_t i = 0; i < row.inputs.size(); ++i)
      if (row.inputs[i].type().dtype == tenon::f64) test.differentiable.push_back(i);
    check(test);
  }
}

/// Evenly spaced, from low to high.
Array numbers_between(const tenon::Shape& shape, double low = -2, double high = 2,
                      unsigned seed = 3) {
  auto values = random_doubles(shape, seed);
  for (auto& value : values.values) value = low + (high - low) * (value + 1) / 2;
  return {tenon::f64, values};
}

Array array(const tenon::Shape& shape, const std::vector<double>& values) {
  return {tenon::f64, DoubleArray{shape, values}};
}

/// The gradient of one input.
std::vector<double> input_gradient(const std::string& plugin, const std::string& op,
                                   const tenon::Attributes& attributes,
                                   const std::vector<Array>& inputs,
                                   const std::vector<Array>& output_grads, std::size_t which = 0) {
  PluginOperator kernel(plugin, op, attributes);
  std::vector<Array> states;
  const auto outputs = kernel.forward(inputs, states, {});
  return kernel
      .backward(inputs, outputs, output_grads, std::vector<bool>(inputs.size(), true), {})[which]
      .doubles()
      .values;
}
}  // namespace

TEST_CASE("gradients of element-wise operators, with broadcasting") {
  const auto x = numbers_between({3, 37}), positive = numbers_between({3, 37}, 0.3, 3),
             wide = numbers_between({2, 3, 1}, 0.4, 2, 5), narrow = numbers_between({4}, 0.5, 3, 6);
  const Array condition(tenon::boolean, random_indices({2, 3, 1}, 2, 1));
  check_gradients("elementwise", {{"neg", {}, {x}},
                                  {"abs", {}, {x}},
                                  {"exp", {}, {x}},
                                  {"log", {}, {positive}},
                                  {"sqrt", {}, {positive}},
                                  {"rsqrt", {}, {positive}},
                                  {"square", {}, {x}},
                                  {"sin", {}, {x}},
                                  {"cos", {}, {x}},
                                  {"tanh", {}, {x}},
                                  {"sigmoid", {}, {x}},
                                  {"relu", {}, {x}},
                                  {"leaky_relu", {{"slope", 0.25}}, {x}},
                                  {"gelu", {}, {x}},
                                  {"erf", {}, {x}},
                                  {"softplus", {}, {x}},
                                  {"clip", {{"low", -1.0}, {"high", 0.5}}, {x}},
                                  {"quadratic", {{"a", 2.0}, {"b", -1.0}, {"c", 3.0}}, {x}},
                                  {"cosine", {{"scale", 2.0}}, {x}},
                                  {"smooth_l1", {{"sigma", 1.5}}, {x}},
                                  {"add", {}, {wide, narrow}},
                                  {"sub", {}, {narrow, wide}},
                                  {"mul", {}, {wide, narrow}},
                                  {"div", {}, {wide, narrow}},
                                  {"pow", {}, {wide, narrow}},
                                  {"maximum", {}, {wide, narrow}},
                                  {"minimum", {}, {narrow, wide}},
                                  {"where", {}, {condition, wide, narrow}},
                                  {"cast", {{"dtype", "float64"}}, {x}}});
}

TEST_CASE("gradients of pow at a base or an exponent of 0 are the limits, not nan") {
  const std::vector<Array> inputs = {array({4}, {0, 0, 2, 0}), array({4}, {0, 2, 0, 1})},
                           ones = {array({4}, {1, 1, 1, 1})};
  CHECK(input_gradient("elementwise", "pow", {}, inputs, ones, 0) ==
        std::vector<double>{0, 0, 0, 1});
  CHECK(input_gradient("elementwise", "pow", {}, inputs, ones, 1) ==
        std::vector<double>{0, 0, std::log(2.0), 0});
}

TEST_CASE("the gradient of cast has the input's dtype") {
  const std::vector<Array> x = {Array(tenon::f16, DoubleArray{{3}, {1, 2, 3}})};
  const std::vector<Array> dy = {array({3}, {0.5, 1.0009765625, 70000})};
  CHECK(input_gradient("elementwise", "cast", {{"dtype", "float64"}}, x, dy) ==
        std::vector<double>{0.5, 1.0009765625, INFINITY});
}

TEST_CASE("gradients of reductions go to every element along inner, outer and middle axes") {
  const auto x = numbers_between({3, 5, 7});
  std::vector<GradientRow> rows;
  for (const Integers& axis :
       {Integers{}, Integers{0}, Integers{1}, Integers{2}, Integers{0, 2}, Integers{-1, 1}})
    for (const bool keepdims : {false, true})
      for (const char* op : {"sum", "mean", "max", "min"})
        rows.push_back({op, {{"axis", axis}, {"keepdims", keepdims}}, {x}});
  check_gradients("reduce", rows);
}

TEST_CASE("equal maxima share their gradient") {
  const std::vector<Array> x = {array({2, 3}, {5, 1, 5, 2, 2, 2})}, dy = {array({2}, {1, 6})};
  CHECK(input_gradient("reduce", "max", {{"axis", Integers{1}}}, x, dy) ==
        std::vector<double>{0.5, 0, 0.5, 2, 2, 2});
}

TEST_CASE("gradients of shaping operators go back to the elements' sources") {
  const auto x = numbers_between({3, 4, 5}), y = numbers_between({3, 2, 5}, -2, 2, 4);
  const Integers before{1, 0, 2}, after{0, 3, 1}, far{1, 0, 9};
  check_gradients(
      "shape",
      {{"reshape", {{"shape", Integers{5, -1}}}, {x}},
       {"expand_dims", {{"axis", Integers{1, -1}}}, {x}},
       {"squeeze", {}, {numbers_between({1, 3, 1})}},
       {"transpose", {}, {x}},
       {"transpose", {{"axes", Integers{1, 2, 0}}}, {x}},
       {"concat", {{"axis", 1}}, {x, y, x}},
       {"split", {{"sections", 2}, {"axis", 1}}, {x}},
       {"slice",
        {{"begin", Integers{1, -1}}, {"end", Integers{3, INT64_MIN}}, {"step", Integers{1, -2}}},
        {x}},
       {"pad", {{"before", before}, {"after", after}}, {x}},
       {"pad", {{"before", before}, {"after", after}, {"mode", "edge"}}, {x}},
       {"pad", {{"before", far}, {"after", after}, {"mode", "reflect"}}, {x}},
       {"broadcast_to", {{"shape", Integers{2, 3, 4, 5}}}, {x}},
       {"broadcast_to", {{"shape", Integers{6, 4, 3}}}, {numbers_between({4, 1})}},
       {"broadcast_to", {{"shape", Integers{6, 4, 3}}}, {numbers_between({1, 1, 3})}}});
}

TEST_CASE("split joins the gradients of all its sections, with zeros for sections without one") {
  const tenon::Attributes halves = {{"sections", 2}};
  const std::vector<Array> x = {numbers_between({4})};
  CHECK(input_gradient("shape", "split", halves, x, {array({2}, {1, 2}), array({2}, {3, 4})}) ==
        std::vector<double>{1, 2, 3, 4});
  CHECK(input_gradient("shape", "split", halves, x, {Array(), array({2}, {3, 4})}) ==
        std::vector<double>{0, 0, 3, 4});
}

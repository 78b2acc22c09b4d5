// fused_fully_connected against its definition, and bit for bit against the fused operators.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "plugins/check.hpp"

namespace {

struct FusedLayerRow {
  tenon::Shape data;
  std::int64_t hidden;
  bool bias = true, addend = true, flatten = true;
};

constexpr const char* activations[] = {"none",    "relu", "leaky_relu", "gelu",
                                       "sigmoid", "tanh", "clip"};

double activated(const std::string& activation, double x) {
  if (activation == "relu") return std::max(x, 0.0);
  if (activation == "leaky_relu") return x < 0 ? 0.25 * x : x;
  if (activation == "gelu") return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  if (activation == "sigmoid") return 1 / (1 + std::exp(-x));
  if (activation == "tanh") return std::tanh(x);
  if (activation == "clip") return std::min(std::max(x, -0.5), 0.75);
  return x;
}

tenon::Attributes parameters_of(const std::string& activation) {
  if (activation == "leaky_relu") return {{"slope", 0.25}};
  if (activation == "clip") return {{"low", -0.5}, {"high", 0.75}};
  return {};
}

/// The parameters of fully_connected, then those of the activation.
tenon::Attributes parameters_of(const FusedLayerRow& row, const std::string& activation) {
  const tenon::Attributes layer{
      {"num_hidden", row.hidden}, {"no_bias", !row.bias}, {"flatten", row.flatten}};
  if (activation.empty()) return layer;
  return {{"num_hidden", row.hidden},
          {"no_bias", !row.bias},
          {"flatten", row.flatten},
          {"activation", activation},
          {"slope", 0.25},
          {"low", -0.5},
          {"high", 0.75}};
}

Case fused_layer(const FusedLayerRow& row, const std::string& activation, tenon::DType dtype) {
  auto output = row.flatten ? tenon::Shape{row.data[0], row.hidden} : row.data;
  output.set(-1, row.hidden);
  std::int64_t features = 1;
  for (int axis = row.flatten ? 1 : row.data.rank() - 1; axis < row.data.rank(); ++axis)
    features *= row.data[axis];
  Case test{tenon::join(dtype, " ", row.data, " ", activation),
            "nn",
            "fused_fully_connected",
            {},
            {},
            {},
            {},
            dtype == tenon::f64 ? 1e-9 : 1e-5};
  test.attributes = parameters_of(row, activation);
  test.inputs = {Array(dtype, random_doubles(row.data, 1)),
                 Array(dtype, random_doubles({row.hidden, features}, 2)),
                 row.bias ? Array(dtype, random_doubles({row.hidden}, 3)) : Array(),
                 row.addend ? Array(dtype, random_doubles(output, 4)) : Array()};
  test.oracle = [=](const std::vector<DoubleArray>& in) {
    auto result = zeros(output);
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const auto line = i / row.hidden, h = i % row.hidden;
      double value = (row.bias ? in[2][h] : 0) + (row.addend ? in[3][i] : 0);
      for (std::int64_t k = 0; k < features; ++k)
        value += in[0][line * features + k] * in[1][h * features + k];
      result[i] = activated(activation, value);
    }
    return std::vector{result};
  };
  return test;
}

std::vector<FusedLayerRow> fused_layer_rows() {
  return {{{8, 64}, 10},
          {{1, 1}, 1, false},
          {{5, 7}, 3, false, false},
          {{5, 2, 3}, 4, true, true, false},
          {{7}, 17, true, true, false},
          {{70, 600}, 130, true, true},
          {{0, 4}, 3},
          {{4, 0}, 3, true, false}};
}

Array run_one(const std::string& plugin, const std::string& name,
              const tenon::Attributes& attributes, const std::vector<Array>& inputs) {
  PluginOperator op(plugin, name, attributes);
  auto states = op.make_states(inputs);
  return op.forward(inputs, states, {false, 3})[0];
}

/// Runs the operators in sequence.
Array one_by_one(const Case& test, const FusedLayerRow& row, const std::string& activation) {
  auto result = run_one("nn", "fully_connected", parameters_of(row, ""),
                        {test.inputs[0], test.inputs[1], test.inputs[2]});
  if (test.inputs[3]) result = run_one("elementwise", "add", {}, {result, test.inputs[3]});
  return activation == "none"
             ? result
             : run_one("elementwise", activation, parameters_of(activation), {result});
}

}  // namespace

TEST_CASE("fused_fully_connected matches its definition") {
  for (const auto& row : fused_layer_rows())
    for (const std::string activation : activations)
      for (const auto dtype : {tenon::f32, tenon::f64}) check(fused_layer(row, activation, dtype));
}

TEST_CASE("fused_fully_connected has the bits of the fused operators") {
  for (const auto& row : fused_layer_rows())
    for (const std::string activation : activations)
      for (const auto dtype : {tenon::f32, tenon::f64}) {
        const auto test = fused_layer(row, activation, dtype);
        CAPTURE(test.name);
        CHECK(run_one("nn", "fused_fully_connected", test.attributes, test.inputs)
                  .same_bits(one_by_one(test, row, activation)));
      }
}

TEST_CASE("fused_fully_connected refuses inconsistent arguments with the reason") {
  const auto types = [](const tenon::Shape& addend) {
    return std::vector<tenon::TensorType>{
        {{8, 64}, tenon::f32}, {{10, 64}, tenon::f32}, {{10}, tenon::f32}, {addend, tenon::f32}};
  };
  CHECK(error_of("nn", "fused_fully_connected", {{"num_hidden", 10}}, types({10, 8})) ==
        "input 'addend' is [10, 8] but needs [8, 10]");
  CHECK(error_of("nn", "fused_fully_connected",
                 {{"num_hidden", 10}, {"activation", "clip"}, {"low", 1.0}}, types({8, 10}))
            .starts_with("low is 1 and high is 0"));
  CHECK(error_of("nn", "fused_fully_connected", {{"num_hidden", 10}}, types({8, 10})) == "");
}

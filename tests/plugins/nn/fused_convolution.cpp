// fused_convolution against convolution, add and the activation's operator in sequence: the same
// bits; and against its definition.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "convolution_case.hpp"

namespace {

struct Activation {
  const char* name;
  tenon::Attributes attributes = {};
};

tenon::Attributes fused_attributes(const ConvolutionRow& row, const Activation& activation) {
  auto given = attributes(row);
  given.set("activation", std::string(activation.name));
  for (const auto& [name, value] : activation.attributes) given.set(name, value);
  return given;
}

Array one_by_one(const ConvolutionRow& row, const Activation& activation, const Array& addend,
                 const PluginOperator::Mode& mode) {
  const auto test = convolution(row);
  std::vector<Array> states;
  auto result =
      PluginOperator("nn", "convolution", test.attributes).forward(test.inputs, states, mode)[0];
  if (addend)
    result = PluginOperator("elementwise", "add", {}).forward({result, addend}, states, {})[0];
  if (std::string(activation.name) == "none") return result;
  return PluginOperator("elementwise", activation.name, activation.attributes)
      .forward({result}, states, {})[0];
}

void check_fused(const ConvolutionRow& row, const Activation& activation, bool adds) {
  const auto test = convolution(row);
  const auto output = sliding(row).output(row.data, row.filters);
  const auto addend = adds ? Array(tenon::f32, random_doubles(output, 7)) : Array();
  auto inputs = test.inputs;
  inputs.push_back(addend);
  INFO(activation.name, " of a convolution of ", test.name, adds ? " and an addend" : "");
  for (const bool last : {false, true}) {
    PluginOperator op("nn", "fused_convolution", fused_attributes(row, activation));
    PluginOperator::Mode mode, plain;
    if (last) mode = {false, 1, {0, 3}, true}, plain = {false, 1, {0}, true};
    const auto expected = one_by_one(row, activation, addend, plain);
    for (const int threads : {1, 3})
      for (const bool prepared : {false, true}) {
        mode.threads = threads;
        mode.constants = prepared ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{};
        std::vector<Array> states;
        CAPTURE(last);
        CAPTURE(threads);
        CAPTURE(prepared);
        CHECK(op.forward(inputs, states, mode)[0].same_bits(expected));
      }
  }
}

}  // namespace

TEST_CASE(
    "fused_convolution has the bits of convolution, add and the activation's operator, in both "
    "layouts, with and without packed weights") {
  const Activation activations[] = {
      {"none"},      {"relu"}, {"leaky_relu", {{"slope", 0.25}}},         {"gelu"},
      {"sigmoid"},   {"tanh"}, {"clip", {{"low", -0.5}, {"high", 0.75}}}, {"swish"},
      {"hard_swish"}};
  const ConvolutionRow rows[] = {
      {{1, 16, 40, 33}, 32, {3, 3}, {}, {1}},  // split into rows
      {{3, 6, 9, 7}, 5, {3, 2}, {2}, {1}, {}, 1, false},
      {{2, 8, 20}, 8, {3}, {}, {1}, {2}, 8},
      {{1, 4, 5, 6, 7}, 6, {3, 3, 3}},
      {{3, 128, 4, 4}, 512, {3, 3}, {}, {1}},  // split by filters
      {{2, 128, 4, 4}, 512, {3, 3}, {}, {1}},  // im2col
      {{1, 32, 30, 26}, 48, {3, 3}, {}, {1}},  // Winograd
      {{1, 32, 5, 270}, 32, {3, 3}, {}, {1}},  // in chunks of rows
  };
  for (const auto& row : rows)
    for (const auto& activation : activations)
      for (const bool adds : {false, true}) check_fused(row, activation, adds);
}

TEST_CASE("fused_convolution matches its definition") {
  const ConvolutionRow row{{2, 3, 7, 6}, 4, {3, 3}, {1, 2}, {1}};
  const auto output = sliding(row).output(row.data, row.filters);
  auto test = convolution(row);
  test.op = "fused_convolution";
  test.attributes = fused_attributes(row, {"tanh"});
  test.inputs.push_back(Array(tenon::f32, random_doubles(output, 7)));
  test.differentiable.clear();
  test.oracle = [row](const std::vector<DoubleArray>& in) {
    auto result = convolve(in[0], in[1], in[2], row);
    for (std::int64_t i = 0; i < result.size(); ++i) result[i] = std::tanh(result[i] + in[3][i]);
    return std::vector{result};
  };
  check(test);
}

TEST_CASE("fused_convolution refuses inconsistent arguments with the reason") {
  const ConvolutionRow row{{2, 3, 5, 5}, 2, {3, 3}};
  const tenon::TensorType data{row.data, tenon::f32}, weight{{}, tenon::f32};
  CHECK(error_of("nn", "fused_convolution", attributes(row),
                 {data, weight, {{2}, tenon::f32}, {{2, 2, 3, 4}, tenon::f32}})
            .find("[2, 2, 3, 4]") != std::string::npos);
  CHECK(error_of("nn", "fused_convolution",
                 fused_attributes(row, {"clip", {{"low", 1.0}, {"high", 0.0}}}),
                 {data, weight, {}, {}}) == "low is 1 and high is 0; needs low <= high");
}

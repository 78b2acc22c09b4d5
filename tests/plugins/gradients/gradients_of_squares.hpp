// Gradients of an operator for the sum of squares of all outputs, against recorded ones.
#pragma once
#include <doctest/doctest.h>

#include "plugins/array.hpp"
#include "plugins/plugin_operator.hpp"

namespace gradients_of_squares {

inline Array floats_of(const tenon::Shape& shape, const std::vector<double>& values) {
  return {tenon::f32, DoubleArray{shape, values}};
}

inline void check_gradients_of_squares(
    const std::string& op, const tenon::Attributes& attributes, const std::vector<Array>& inputs,
    const std::vector<std::pair<std::size_t, std::vector<double>>>& expected) {
  PluginOperator kernel("nn", op, attributes);
  std::vector<Array> states;
  const auto outputs = kernel.forward(inputs, states, {});
  std::vector<Array> output_grads;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto values = outputs[i].doubles();
    for (auto& value : values.values) value *= 2;
    output_grads.emplace_back(tenon::f32, values);
  }
  std::vector<bool> requested(inputs.size(), true);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    requested[i] = inputs[i].type().dtype == tenon::f32;
  const auto gradients = kernel.backward(inputs, outputs, output_grads, requested, {});
  for (const auto& each : expected) {
    const auto& input = each.first;
    const auto& values = each.second;
    CAPTURE(input);
    const auto found = gradients[input].doubles().values;
    REQUIRE(found.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(found[i] == doctest::Approx(values[i]).epsilon(2e-5).scale(1));
  }
}

}  // namespace gradients_of_squares

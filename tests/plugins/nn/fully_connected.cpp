// fully_connected against its definition.
#include <doctest/doctest.h>

#include "plugins/check.hpp"

namespace {

struct LayerRow {
  tenon::Shape data;
  std::int64_t hidden;
  bool bias = true, flatten = true;
};

DoubleArray layer(const DoubleArray& data, const DoubleArray& weight, const DoubleArray& bias,
                  const LayerRow& row) {
  auto shape = data.shape;
  if (row.flatten) shape = {data.dim(0), row.hidden};
  shape.set(-1, row.hidden);
  auto output = zeros(shape);
  const auto features = weight.dim(1);
  for (std::int64_t i = 0; i < output.size(); ++i) {
    const auto *x = data.values.data() + i / row.hidden * features,
               *w = weight.values.data() + i % row.hidden * features;
    output[i] = row.bias ? bias[i % row.hidden] : 0;
    for (std::int64_t k = 0; k < features; ++k) output[i] += x[k] * w[k];
  }
  return output;
}

Case fully_connected(const LayerRow& row, tenon::DType dtype) {
  std::int64_t features = 1;
  for (int axis = row.flatten ? 1 : row.data.rank() - 1; axis < row.data.rank(); ++axis)
    features *= row.data[axis];
  Case test{tenon::join(dtype, " ", row.data), "nn", "fully_connected", {}, {}, {}, {0, 1},
            dtype == tenon::f64 ? 1e-8 : 1e-4};
  test.attributes = {{"num_hidden", row.hidden}, {"no_bias", !row.bias}, {"flatten", row.flatten}};
  test.inputs = {Array(dtype, random_doubles(row.data, 1)),
                 Array(dtype, random_doubles({row.hidden, features}, 2)), Array()};
  if (row.bias) {
    test.inputs[2] = Array(dtype, random_doubles({row.hidden}, 3));
    test.differentiable.push_back(2);
  }
  test.oracle = [row](const std::vector<DoubleArray>& in) {
    return std::vector{layer(in[0], in[1], in[2], row)};
  };
  return test;
}

}  // namespace

TEST_CASE("fully_connected matches its definition, and its gradient the oracle's") {
  const LayerRow rows[] = {
      {{8, 64}, 10},
      {{1, 1}, 1},
      {{5, 7}, 3, false},
      {{5, 2, 3, 4}, 6},
      {{5, 2, 3}, 4, true, false},
      {{7}, 4, true, false},
      {{200, 30}, 300},  // more than one tile along each axis
      {{0, 4}, 3},
      {{4, 0}, 3},  // only the bias
  };
  for (const auto& row : rows)
    for (const auto dtype : {tenon::f32, tenon::f64}) check(fully_connected(row, dtype));
}

TEST_CASE("fully_connected refuses inconsistent arguments with the reason") {
  const tenon::Attributes ten{{"num_hidden", 10}}, last{{"num_hidden", 10}, {"flatten", false}},
      bare{{"num_hidden", 10}, {"no_bias", true}};
  const struct {
    tenon::Attributes attributes;
    tenon::Shape data, weight, bias;
    const char* reason;
  } rows[] = {
      {ten, {8, 64}, {10, 32}, {10}, "weight is [10, 32] but data [8, 64] needs [10, 64]"},
      {ten, {8, 2, 3}, {10, 3}, {10}, "weight is [10, 3] but data [8, 2, 3] needs [10, 6]"},
      {ten, {8}, {}, {10}, "data is [8] but needs at least two dimensions"},
      {last, tenon::Shape::scalar(), {}, {10}, "data is [] but needs at least one dimension"},
      {ten, {8, 64}, {10, 64}, {9}, "input 'bias' is [9] but needs [10]"},
      {bare, {8, 64}, {10, 64}, {10}, "has a bias although no_bias is set"},
  };
  for (const auto& row : rows)
    CHECK(error_of("nn", "fully_connected", row.attributes,
                   {{row.data, tenon::f32}, {row.weight, tenon::f32}, {row.bias, tenon::f32}}) ==
          row.reason);
}

TEST_CASE("fully_connected infers the shapes of its weight and bias") {
  constexpr auto u = tenon::unknown;
  const struct {
    tenon::Shape data, weight, output;
  } rows[] = {{{u, 64}, {10, 64}, {u, 10}},
              {{8, u}, {10, u}, {8, 10}},
              {{u, 2, 3}, {10, 6}, {u, 10}},
              {{u, u, 3}, {10, u}, {u, 10}}};
  for (const auto& row : rows) {
    const auto types = PluginOperator("nn", "fully_connected", {{"num_hidden", 10}})
                           .infer({{row.data, tenon::f32}, {{}, tenon::f32}, {{}, tenon::f32}});
    CHECK(tenon::to_string(types.inputs[1].shape) == tenon::to_string(row.weight));
    CHECK(tenon::to_string(types.inputs[2].shape) == "[10]");
    CHECK(tenon::to_string(types.outputs[0].shape) == tenon::to_string(row.output));
  }
}

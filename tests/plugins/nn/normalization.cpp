// batch_norm and layer_norm against their definitions.
#include <doctest/doctest.h>

#include <cmath>

#include "along_axis.hpp"
#include "channels_last.hpp"
#include "plugins/check.hpp"

namespace {

constexpr double added_variance = 1e-3;

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments(const DoubleArray& data, const std::vector<std::int64_t>& places) {
  Moments result;
  const auto n = static_cast<double>(places.size());
  for (const auto at : places) result.mean += data[at] / n;
  for (const auto at : places)
    result.variance += (data[at] - result.mean) * (data[at] - result.mean) / n;
  return result;
}

/// The indices of each channel's elements.
std::vector<std::vector<std::int64_t>> channels(const tenon::Shape& shape, int axis) {
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(shape[axis]));
  for (const auto& run : along_axis(shape, axis))
    for (std::size_t channel = 0; channel < run.size(); ++channel)
      places[channel].push_back(run[channel]);
  return places;
}

/// Output, mean and inverse_std in training.
std::vector<DoubleArray> batch_norm(const DoubleArray& data, const DoubleArray& gamma,
                                    const DoubleArray& beta, int axis, bool training) {
  auto output = data, mean = gamma, inverse = gamma;
  const auto places = channels(data.shape, axis);
  for (std::int64_t c = 0; c < gamma.size(); ++c) {
    const auto& mine = places[static_cast<std::size_t>(c)];
    const auto of = training && !mine.empty()
                        ? moments(data, mine)
                        : Moments{};  // the moving statistics of these checks are 0
    mean[c] = of.mean;
    inverse[c] = 1 / std::sqrt(of.variance + added_variance);
    for (const auto at : mine) output[at] = gamma[c] * (data[at] - mean[c]) * inverse[c] + beta[c];
  }
  return {output, mean, inverse};
}

std::vector<DoubleArray> layer_norm(const DoubleArray& data, const DoubleArray& gamma,
                                    const DoubleArray& beta, int axis) {
  if (axis < 0) axis += data.shape.rank();
  auto output = data, mean = zeros(tenon::Shape(data.shape.begin(), axis)), inverse = mean;
  std::int64_t row = 0;
  for (const auto& places : along_axis(data.shape, axis, true)) {
    const auto of = moments(data, places);
    mean[row] = of.mean;
    inverse[row++] = 1 / std::sqrt(of.variance + added_variance);
    for (std::size_t i = 0; i < places.size(); ++i)
      output[places[i]] =
          gamma.values[i] * (data[places[i]] - of.mean) / std::sqrt(of.variance + added_variance) +
          beta.values[i];
  }
  return {output, mean, inverse};
}

double normalization_tolerance(tenon::DType dtype) {
  return dtype == tenon::f64   ? 1e-6
         : dtype == tenon::f32 ? 2e-4
         : dtype == tenon::f16 ? 2e-2
                               : 0.15;
}

struct NormalizationRow {
  tenon::Shape data;
  int axis;
};

Case batch_norm_case(const NormalizationRow& row, tenon::DType dtype, bool training) {
  const tenon::Shape channels{row.data[row.axis]};
  return {tenon::join(dtype, " ", row.data, " axis ", row.axis, training ? " training" : ""),
          "nn",
          "batch_norm",
          {{"axis", row.axis}, {"epsilon", added_variance}},
          {Array(dtype, random_doubles(row.data, 1)), Array(dtype, random_doubles(channels, 2)),
           Array(dtype, random_doubles(channels, 3))},
          [=](const std::vector<DoubleArray>& in) {
            return batch_norm(in[0], in[1], in[2], row.axis, training);
          },
          {0, 1, 2},
          normalization_tolerance(dtype) *
              (training ? 1 : 30),  // 1 / sqrt(added_variance), since moving_var is 0 here
          training};
}

Case layer_norm_case(const NormalizationRow& row, tenon::DType dtype) {
  const int first = row.axis < 0 ? row.axis + row.data.rank() : row.axis;
  const tenon::Shape tail(row.data.begin() + first, row.data.rank() - first);
  return {
      tenon::join(dtype, " ", row.data, " axis ", row.axis),
      "nn",
      "layer_norm",
      {{"axis", row.axis}, {"epsilon", added_variance}},
      {Array(dtype, random_doubles(row.data, 1)), Array(dtype, random_doubles(tail, 2)),
       Array(dtype, random_doubles(tail, 3))},
      [=](const std::vector<DoubleArray>& in) { return layer_norm(in[0], in[1], in[2], row.axis); },
      {0, 1, 2},
      normalization_tolerance(dtype)};
}

}  // namespace

TEST_CASE("batch_norm matches its definition, and its gradient the oracle's") {
  const NormalizationRow rows[] = {{{4, 3}, 1},     {{2, 3, 5, 7}, 1},    {{5, 7, 3}, -1},
                                   {{3, 4}, 0},     {{9, 1, 2, 2, 3}, 1}, {{0, 3, 2}, 1},
                                   {{70, 40, 3}, 1}};
  for (const auto& row : rows)
    for (const auto dtype : all_floating)
      for (const bool training : {true, false}) check(batch_norm_case(row, dtype, training));
  check(batch_norm_case({{2, 3, 5000}, 1}, tenon::f32, true));  // sums in several chunks
}

TEST_CASE("batch_norm of channels-last tensors gives the bits of plain ones") {
  const NormalizationRow rows[] = {{{2, 32, 40, 41}, 1}, {{3, 5, 7}, 1},    {{2, 3, 4, 5}, -1},
                                   {{2, 3, 4, 5}, 0},    {{2, 3, 4, 5}, 2}, {{9, 1, 2, 2, 3}, 1},
                                   {{0, 3, 2}, 1}};
  for (const auto& row : rows)
    for (const auto dtype : all_floating)
      check_channels_last(batch_norm_case(row, dtype, false), 0);
}

TEST_CASE("batch_norm updates its states in training only, and uses them otherwise") {
  const DoubleArray data{{2, 2}, {1, 10, 3, 30}}, ones{{2}, {1, 1}}, none{{2}, {0, 0}};
  const std::vector<Array> inputs{Array(tenon::f64, data), Array(tenon::f64, ones),
                                  Array(tenon::f64, none)};
  std::vector<Array> states{Array(tenon::f64, DoubleArray{{2}, {4, 8}}),
                            Array(tenon::f64, DoubleArray{{2}, {2, 16}})};
  PluginOperator op("nn", "batch_norm", {{"momentum", 0.75}, {"epsilon", 1e-300}});
  const auto eval = op.forward(inputs, states, {})[0].doubles();
  CHECK(states[0].doubles().values == std::vector<double>{4, 8});
  CHECK(eval[1] == 0.5);  // (10 - 8) / 4
  op.forward(inputs, states, {true, 1});
  CHECK(states[0].doubles().values ==
        std::vector<double>{3.5, 11});  // 3/4 of the previous values, 1/4 of the means 2 and 20
  CHECK(states[1].doubles().values ==
        std::vector<double>{1.75, 37});  // ... of the variances 1 and 100
}

TEST_CASE("batch_norm's variance is accurate for a large mean") {
  const auto spread = random_doubles({64, 1}, 4);
  auto shifted = spread;
  for (auto& value : shifted.values) value += 4096;
  const std::vector<Array> rest{Array(tenon::f32, DoubleArray{{1}, {1}}),
                                Array(tenon::f32, DoubleArray{{1}, {0}})};
  PluginOperator op("nn", "batch_norm", {});
  std::vector<Array> states{Array(tenon::f32, zeros({1})), Array(tenon::f32, zeros({1}))};
  const auto run = [&](const DoubleArray& data) {
    return op.forward({Array(tenon::f32, data), rest[0], rest[1]}, states, {true, 1})[0].doubles();
  };
  const auto expected = run(spread), found = run(shifted);
  for (std::int64_t i = 0; i < expected.size(); ++i)
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-3));
}

TEST_CASE("layer_norm matches its definition, and its gradient the oracle's") {
  const NormalizationRow rows[] = {{{7}, 0},       {{3, 5}, -1}, {{4, 3, 5}, 1},   {{4, 3, 5}, -2},
                                   {{70, 130}, 1}, {{0, 5}, 1},  {{2, 3, 1, 5}, 3}};
  for (const auto& row : rows)
    for (const auto dtype : all_floating) check(layer_norm_case(row, dtype));
}

TEST_CASE("normalizations refuse inconsistent arguments with the reason") {
  const struct {
    const char* op;
    tenon::Attributes attributes;
    tenon::Shape data, gamma;
    const char* reason;
  } rows[] = {
      {"batch_norm", {}, {4}, {4}, "axis is 1 but data is [4]: needs -1 to 0"},
      {"batch_norm", {}, {4, 3, 2}, {4}, "gamma is [4] but data [4, 3, 2] needs [3]"},
      {"layer_norm", {{"axis", -3}}, {4, 3}, {3}, "axis is -3 but data is [4, 3]: needs -2 to 1"},
      {"layer_norm", {{"axis", 1}}, {4, 3, 2}, {3}, "gamma is [3] but data [4, 3, 2] needs [3, 2]"},
  };
  for (const auto& row : rows)
    CHECK(error_of("nn", row.op, row.attributes,
                   {{row.data, tenon::f32}, {row.gamma, tenon::f32}, {{}, tenon::f32}}) ==
          row.reason);
}

// softmax and log_softmax against their definitions.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "along_axis.hpp"
#include "plugins/check.hpp"

namespace {

/// The plain definition, without subtraction of the maximum.
DoubleArray shares(const DoubleArray& data, int axis, bool logarithm) {
  auto output = data;
  for (const auto& run : along_axis(data.shape, axis)) {
    double total = 0;
    for (const auto at : run) total += std::exp(data[at]);
    for (const auto at : run)
      output[at] = logarithm ? data[at] - std::log(total) : std::exp(data[at]) / total;
  }
  return output;
}

Case softmax(const char* op, tenon::DType dtype, const tenon::Shape& data, int axis) {
  const bool logarithm = op[0] == 'l';
  const double tolerance = dtype == tenon::f64   ? 1e-9
                           : dtype == tenon::f32 ? 2e-6
                           : dtype == tenon::f16 ? 4e-3
                                                 : 3e-2;
  return {tenon::join(dtype, " ", data, " axis ", axis),
          "nn",
          op,
          {{"axis", axis}},
          {Array(dtype, random_doubles(data, 1))},
          [=](const std::vector<DoubleArray>& in) {
            return std::vector{shares(in[0], axis, logarithm)};
          },
          {0},
          tolerance};
}

std::vector<double> run(const char* op, std::vector<double> values) {
  PluginOperator softmax("nn", op, {});
  std::vector<Array> states;
  const auto size = static_cast<std::int64_t>(values.size());
  return softmax.forward({Array(tenon::f32, DoubleArray{{size}, std::move(values)})}, states, {})[0]
      .doubles()
      .values;
}

}  // namespace

TEST_CASE("softmax and log_softmax match their definitions, and their gradients the oracle's") {
  const struct {
    tenon::Shape data;
    int axis;
  } rows[] = {{{1}, 0},           {{7}, -1},      {{3, 5}, -1},    {{3, 5}, 0},     {{4, 3, 5}, 1},
              {{2, 3, 4, 5}, -3}, {{300, 17}, 1}, {{3, 1000}, 1},  {{2, 70, 3}, 1}, {{0, 5}, 1},
              {{5, 0}, 1},        {{5, 0}, 0},    {{2, 33, 7}, 1}, {{3, 65}, 0},    {{2, 41}, 1}};
  for (const auto& row : rows)
    for (const auto* op : {"softmax", "log_softmax"})
      for (const auto dtype : {tenon::f32, tenon::f64, tenon::f16, tenon::bf16})
        check(softmax(op, dtype, row.data, row.axis));
}

TEST_CASE("softmax and log_softmax accept numbers for which exp overflows") {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  CHECK(run("softmax", {1000, 1000, -1000, -infinity}) == std::vector<double>{0.5, 0.5, 0, 0});
  CHECK(run("log_softmax", {1000, 0, -infinity}) == std::vector<double>{0, -1000, -infinity});
}

TEST_CASE("softmax refuses an axis out of range") {
  CHECK(error_of("nn", "softmax", {{"axis", 2}}, {{{3, 4}, tenon::f32}}) ==
        "axis is 2 but data is [3, 4]: needs -2 to 1");
  CHECK(error_of("nn", "log_softmax", {}, {{tenon::Shape::scalar(), tenon::f32}}) ==
        "axis is -1 but data is []: needs at least one dimension");
}

// The two published examples that are bundled unchanged: dropout and csr_times_dense.
#include <doctest/doctest.h>

#include <algorithm>

#include "check.hpp"

TEST_CASE(
    "dropout keeps a fraction of 1 - p in training and scales it, and is the identity otherwise") {
  constexpr std::int64_t n = 100'000;
  const std::vector<Array> inputs{Array(tenon::f32, DoubleArray{{n}, std::vector<double>(n, 3)})};
  std::vector<Array> states;
  PluginOperator op("nn", "dropout", {{"p", 0.25}});
  CHECK(op.forward(inputs, states, {})[0].same_bits(inputs[0]));

  const auto outputs = op.forward(inputs, states, {true, 1});
  CHECK(op.forward(inputs, states, {true, 4})[0].same_bits(outputs[0]));
  const auto output = outputs[0].doubles();
  const auto dropped = std::count(output.values.begin(), output.values.end(), 0.0);
  const auto kept = std::count(output.values.begin(), output.values.end(), 4.0);
  CHECK(dropped + kept == n);
  CHECK(dropped == doctest::Approx(0.25 * n).epsilon(0.03));  // 5 standard deviations are 2.8 %

  const auto gradient =
      op.backward(inputs, outputs, {Array(tenon::f32, DoubleArray{{n}, std::vector<double>(n, 6)})},
                  {true}, {true, 1})[0]
          .doubles();
  for (std::int64_t i = 0; i < n; i += 97) CHECK(gradient[i] == 2 * output[i]);
}

TEST_CASE("csr_times_dense multiplies dense matrices, too") {
  const auto product = [](const std::vector<DoubleArray>& in) {
    const auto rows = in[0].dim(0), inner = in[0].dim(1), columns = in[1].dim(1);
    auto output = zeros({rows, columns});
    for (std::int64_t i = 0; i < output.size(); ++i)
      for (std::int64_t k = 0; k < inner; ++k)
        output[i] += in[0][i / columns * inner + k] * in[1][k * columns + i % columns];
    return std::vector{output};
  };
  for (const auto& [left, right] : {std::pair<tenon::Shape, tenon::Shape>{{3, 4}, {4, 5}},
                                    {{1, 1}, {1, 1}},
                                    {{0, 3}, {3, 2}},
                                    {{2, 0}, {0, 3}}})
    check(
        {tenon::join(left, " x ", right),
         "linalg",
         "csr_times_dense",
         {},
         {Array(tenon::f32, random_doubles(left, 1)), Array(tenon::f32, random_doubles(right, 2))},
         product});
}

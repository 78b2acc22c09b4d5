// global_norm_scale and scale_by: clipping by the norm of all gradients.
#include <cmath>

#include "plugins/check.hpp"
#include "plugins/numbers.hpp"

namespace {
double scale_of(double max_norm, const std::vector<Array>& grads, int threads = 1) {
  std::vector<Array> states;
  return PluginOperator("optim", "global_norm_scale", {{"max_norm", max_norm}})
      .forward(grads, states, {true, threads})[0]
      .doubles()[0];
}
}  // namespace

TEST_CASE(
    "the scale reduces the norm of all gradients to max_norm, and does not change a smaller one") {
  const std::vector<Array> grads{Array(tenon::f32, DoubleArray{{2}, {3, 0}}),
                                 Array(tenon::f16, DoubleArray{{1, 1}, {4}}),
                                 Array(tenon::f64, DoubleArray{{0}, {}})};  // norm 5
  CHECK(scale_of(1, grads) == static_cast<double>(static_cast<float>(1 / (5 + 1e-6))));
  CHECK(scale_of(2.5, grads) == static_cast<double>(static_cast<float>(2.5 / (5 + 1e-6))));
  CHECK(scale_of(6, grads) == 1);
  CHECK(scale_of(1, {Array(tenon::f32, DoubleArray{{2}, {0, 0}})}) == 1);
  CHECK(std::isnan(scale_of(1, {Array(tenon::f32, DoubleArray{{2}, {0, NAN}})})));
}

TEST_CASE("the norm has the same bits on any number of threads, and is close to a plain sum") {
  for (const auto dtype : all_floating) {
    std::vector<Array> grads{Array(dtype, random_doubles({100003}, 1)),
                             Array(dtype, random_doubles({37, 501}, 2))};
    double squares = 0;
    for (const auto& grad : grads)
      for (const double value : grad.doubles().values) squares += value * value;
    const auto scale = scale_of(0.5, grads);
    CHECK(scale == doctest::Approx(0.5 / std::sqrt(squares)).epsilon(1e-6));
    CHECK(scale == scale_of(0.5, grads, 4));
  }
}

TEST_CASE("scale_by multiplies by a scalar, and its gradient matches the oracle's") {
  for (const auto dtype : all_floating)
    for (const tenon::Shape& shape : {tenon::Shape::scalar(), {0}, {3, 5}, {130, 70}})
      check({tenon::join(dtype, " ", shape),
             "optim",
             "scale_by",
             {},
             {Array(dtype, random_doubles(shape, 1)),
              Array(tenon::f32, DoubleArray{tenon::Shape::scalar(), {0.3125}})},
             [](const std::vector<DoubleArray>& in) {
               auto output = in[0];
               for (auto& value : output.values) value *= in[1][0];
               return std::vector{output};
             },
             {0, 1},
             tenon::size_of(dtype) == 2 ? 1e-2 : 1e-5});
}

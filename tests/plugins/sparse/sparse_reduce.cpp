// sum and mean of csr matrices against sums over every element.
#include <doctest/doctest.h>

#include <limits>

#include "sparse.hpp"

using namespace plugin_tests;

namespace {

/// Sums over axis 0, axis 1, or both.
Doubles sums(const Tensor& x, bool rows, bool columns) {
  const auto all = expanded(x);
  const auto height = static_cast<std::size_t>(x.shape()[0]),
             width = static_cast<std::size_t>(x.shape()[1]);
  Doubles result((rows ? 1 : height) * (columns ? 1 : width), 0.0);
  for (std::size_t i = 0; i < height; ++i)
    for (std::size_t j = 0; j < width; ++j)
      result[(rows ? 0 : i) * (columns ? 1 : width) + (columns ? 0 : j)] += all[i * width + j];
  return result;
}

struct SummedAxes {
  Integers axis;
  bool rows, columns;
};
const SummedAxes all_axes[] = {{{}, true, true},    {{0, 1}, true, true}, {{0}, true, false},
                               {{-2}, true, false}, {{1}, false, true},   {{-1}, false, true}};

}  // namespace

TEST_CASE(
    "sum and mean of csr match those of all elements, are dense and the same on any number of "
    "threads, and so are their gradients") {
  for (const auto& pattern : patterns())
    for (const auto dtype : {tenon::f32, tenon::f64, tenon::f16, tenon::bf16, tenon::i32,
                             tenon::i64, tenon::u8, tenon::i8})
      for (const auto& axes : all_axes)
        for (const bool keepdims : {false, true}) {
          const auto& [axis, summed_rows, summed_columns] = axes;
          const bool rows = summed_rows,
                     columns =
                         summed_columns;  // clang 14 cannot capture a structured binding in CAPTURE
          CAPTURE(pattern.name);
          CAPTURE(name(dtype));
          CAPTURE(rows);
          CAPTURE(columns);
          const Attributes attributes{{"axis", axis}, {"keepdims", keepdims}};
          const auto x = sparse_of(pattern, dtype, Storage::csr),
                     dense = cast_storage(x, Storage::dense);
          auto expected = sums(x, rows, columns);
          const auto sum = strict_host().call("sum", {x}, attributes),
                     like = host().call("sum", {dense}, attributes);
          const auto near = tenon::floating.has(dtype) ? 2 * epsilon(dtype) : 0;
          check_near(sum, like.dtype(), like.shape(), expected, near);
          CHECK(same_bits(strict_host(1).call("sum", {x}, attributes), sum));

          const auto mean = strict_host().call("mean", {x}, attributes),
                     mean_like = host().call("mean", {dense}, attributes);
          const double count =
              static_cast<double>((rows ? pattern.shape[0] : 1) * (columns ? pattern.shape[1] : 1));
          for (auto& value : expected) value /= count;
          check_near(mean, mean_like.dtype(), mean_like.shape(), expected,
                     2 * epsilon(mean_like.dtype()));
          if (dtype != tenon::f32) continue;
          const auto dy =
              tensor(dtype, sum.shape(), Doubles(static_cast<std::size_t>(sum.size()), 3.0));
          const auto dx = gradient(strict_host(), "sum", {x}, attributes, 0, dy);
          CHECK(numbers(dx) == Doubles(static_cast<std::size_t>(x.size()), 3.0));
        }
}

TEST_CASE("sums of many values are the same on any number of threads") {
  const auto x = sparse_of({"", {600, 500}, 0.5}, tenon::f32, Storage::csr);
  for (const auto& [axis, rows, columns] : all_axes) {
    const auto sum = strict_host(4).call("sum", {x}, {{"axis", axis}});
    CHECK(numbers(sum) == sums(x, rows, columns));
    CHECK(same_bits(strict_host(1).call("sum", {x}, {{"axis", axis}}), sum));
  }
}

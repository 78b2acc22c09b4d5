#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("tensor functions: filled tensors, in every dtype") {
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(name_of(dtype));
    CHECK(same_bits(full(dtype, {2, 3}, 0), Tensor::zeros(dtype, {2, 3})));
    CHECK(ones(dtype, {2}).to_string().ends_with(dtype == DType::boolean ? "true true" : "1 1"));
  }
  CHECK(same_bits(full(f32, {2}, 0.1), Tensor::from({0.1f, 0.1f}, {2})));
  CHECK(same_bits(arange(i64, 4), Tensor::from<std::int64_t>({0, 1, 2, 3}, {4})));
  CHECK(same_bits(arange(f64, 3, 1, -0.5), Tensor::from({1.0, 0.5, 0.0}, {3})));
  CHECK(arange(f32, 0).shape() == Shape{0});
}

TEST_CASE("tensor functions: integers hold what they can hold") {
  const auto message = [](DType dtype, double value) { return failure_of([&] { full(dtype, {1}, value); }).message; };
  CHECK(full(u8, {1}, 255).values<std::uint8_t>()[0] == 255);
  CHECK(full(i64, {1}, -0x1p63).values<std::int64_t>()[0] == std::numeric_limits<std::int64_t>::min());
  CHECK(message(u8, 256) == "256 does not fit into uint8");
  CHECK(message(u8, -1) == "-1 does not fit into uint8");
  CHECK(message(i32, 0.5) == "0.5 does not fit into int32");
  CHECK(message(i64, 0x1p63).ends_with("does not fit into int64"));
  CHECK(message(i64, std::nan("")) == "nan does not fit into int64");
  CHECK(message(boolean, 2) == "2 does not fit into bool, which holds 0 and 1");
  CHECK(message(f32, 1e300) == "1e+300 does not fit into float32");
  CHECK(message(f16, 1e6) == "1000000 does not fit into float16");
  CHECK(message(f16, -65520) == "-65520 does not fit into float16");  // half way to what would be the next number
  CHECK(message(bf16, 3.4e38) == "3.4e+38 does not fit into bfloat16");
  CHECK(failure_of([] { arange(f16, 3, 65500, 10); }).message == "65520 does not fit into float16");
  CHECK(full(f16, {1}, 65519).to_string().ends_with("65504"));
  CHECK(full(f32, {1}, 3.4028235e38).values<float>()[0] == std::numeric_limits<float>::max());  // which rounds down to it
  for (const auto dtype : {f16, bf16, f32, f64}) CHECK(full(dtype, {1}, std::nan("")).to_string().ends_with("nan"));
  CHECK(std::isinf(full(f32, {1}, std::numeric_limits<double>::infinity()).values<float>()[0]));
}

TEST_CASE("tensor functions: random numbers are those of the seed, with the moments asked for") {
  const auto uniform = random_uniform(f64, {100, 100}, 1, -2, 6), normal = random_normal(f64, {100, 100}, 1, 3, 0.5);
  CHECK(same_bits(uniform, random_uniform(f64, {100, 100}, 1, -2, 6)));
  CHECK_FALSE(same_bits(uniform, random_uniform(f64, {100, 100}, 2, -2, 6)));
  const auto moments = [](const Tensor& tensor) {
    double sum = 0, squares = 0;
    for (const double x : tensor.values<double>()) sum += x, squares += x * x;
    const double mean = sum / 10000;
    return std::pair(mean, std::sqrt(squares / 10000 - mean * mean));
  };
  CHECK(std::abs(moments(uniform).first - 2) < 0.1);  // 4 deviations of the mean are 0.092
  CHECK(std::abs(moments(uniform).second - 8 / std::sqrt(12)) < 0.06);
  CHECK(std::abs(moments(normal).first - 3) < 0.025);
  CHECK(std::abs(moments(normal).second - 0.5) < 0.02);
  for (const double x : uniform.values<double>()) REQUIRE((x >= -2 && x < 6));
  CHECK(failure_of([] { random_uniform(i32, {1}, 0); }).message == "random numbers are floating, and int32 is not");
}

TEST_CASE("tensor functions: rows are shared if they can be") {
  const auto whole = arange(f32, 12).reshape({4, 3});
  const auto part = rows(whole, 1, 3);
  CHECK(part.data() == whole.data<float>() + 3);
  CHECK(same_bits(part, Tensor::from({3.f, 4.f, 5.f, 6.f, 7.f, 8.f}, {2, 3})));
  CHECK(rows(whole, 2, 2).shape() == Shape{0, 3});
  const auto sparse = cast_storage(whole, Storage::csr);
  CHECK(same_bits(cast_storage(rows(sparse, 1, 3), Storage::dense), part));
  CHECK(failure_of([&] { rows(whole, 3, 5); }).message == "the tensor has 4 rows, but rows 3 to 5 are requested");
  CHECK(failure_of([&] { rows(whole, -1, 2); }).message == "the tensor has 4 rows, but rows -1 to 2 are requested");
  CHECK(failure_of([&] { rows(whole, 3, 2); }).message == "the tensor has 4 rows, but rows 3 to 2 are requested");
  CHECK(failure_of([&] { rows(full(f32, Shape::scalar(), 1), 0, 0); }).message == "a scalar has no rows");
  CHECK_FALSE(failure_of([&] { rows(cast_storage(whole, Storage::row_sparse), 0, 1); }).message.empty());
}

TEST_CASE("tensor functions: close is close, by dtype, storage and special numbers") {
  const auto one = [](double value) { return full(f64, {1}, value); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  struct Case {
    double left, right, relative, absolute;
    bool close;
  };
  const Case cases[] = {
      {1, 1 + 1e-9, -1, 1e-12, true},
      {1, 1 + 1e-7, -1, 1e-12, false},
      {1, 1.1, 0.1, 0, true},
      {1, 1.2, 0.1, 0, false},
      {0, 1e-9, -1, 1e-8, true},
      {0, 1e-7, -1, 1e-8, false},
      {infinity, infinity, -1, 0, true},
      {infinity, -infinity, 9, 9, false},
      {1, infinity, 9, 9, false},
      {infinity, 1, 9, 9, false},
      {nan, nan, 9, 9, false},
      {nan, 1, 9, 9, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.left);
    CAPTURE(c.right);
    CHECK(all_close(one(c.left), one(c.right), c.relative, c.absolute) == c.close);
  }
  CHECK_FALSE(all_close(full(f32, {1}, 1), one(1)));
  CHECK_FALSE(all_close(full(f64, {2}, 1), one(1)));
  CHECK(all_close(full(f16, {1}, 1), full(f16, {1}, 1.0009765625)));
  CHECK_FALSE(all_close(full(f32, {1}, 1), full(f32, {1}, 1.0009765625)));
  CHECK_FALSE(all_close(arange(i32, 2), arange(i32, 2, 1)));
  const auto matrix = arange(f32, 6).reshape({2, 3});
  CHECK(all_close(cast_storage(matrix, Storage::csr), matrix));
}

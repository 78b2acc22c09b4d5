#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("tensor functions: filled tensors of every dtype") {
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(name_of(dtype));
    if (dtype != f8e8m0fnu)  // has no zero
      CHECK(same_bits(full(dtype, {2, 3}, 0), Tensor::zeros(dtype, {2, 3})));
    CHECK(ones(dtype, {2})
              .to_string()
              .ends_with(dtype == boolean         ? "true true"
                         : any_complex.has(dtype) ? "1+0j 1+0j"
                                                  : "1 1"));
  }
  CHECK(same_bits(full(f32, {2}, 0.1), Tensor::from({0.1f, 0.1f}, {2})));
  CHECK(same_bits(arange(i64, 4), Tensor::from<std::int64_t>({0, 1, 2, 3}, {4})));
  CHECK(same_bits(arange(f64, 3, 1, -0.5), Tensor::from({1.0, 0.5, 0.0}, {3})));
  CHECK(arange(f32, 0).shape() == Shape{0});
}

TEST_CASE("tensor functions: refuse values that the dtype cannot hold") {
  const auto message = [](DType dtype, double value) {
    return failure_of([&] { full(dtype, {1}, value); }).message;
  };
  CHECK(full(u8, {1}, 255).values<std::uint8_t>()[0] == 255);
  CHECK(full(i64, {1}, -0x1p63).values<std::int64_t>()[0] ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(message(u8, 256) == "256 does not fit into uint8");
  CHECK(message(u8, -1) == "-1 does not fit into uint8");
  CHECK(message(i32, 0.5) == "0.5 does not fit into int32");
  CHECK(message(i64, 0x1p63).ends_with("does not fit into int64"));
  CHECK(message(i64, std::nan("")) == "nan does not fit into int64");
  CHECK(message(boolean, 2) == "2 does not fit into bool, which holds 0 and 1");
  CHECK(message(f32, 1e300) == "1e+300 does not fit into float32");
  CHECK(message(f16, 1e6) == "1000000 does not fit into float16");
  // half way to the next, unrepresentable number
  CHECK(message(f16, -65520) == "-65520 does not fit into float16");
  CHECK(message(bf16, 3.4e38) == "3.4e+38 does not fit into bfloat16");
  CHECK(failure_of([] { arange(f16, 3, 65500, 10); }).message == "65520 does not fit into float16");
  CHECK(full(f16, {1}, 65519).to_string().ends_with("65504"));
  CHECK(full(f32, {1}, 3.4028235e38).values<float>()[0] ==
        std::numeric_limits<float>::max());  // rounds down to it
  for (const auto dtype : {f16, bf16, f32, f64})
    CHECK(full(dtype, {1}, std::nan("")).to_string().ends_with("nan"));
  CHECK(std::isinf(full(f32, {1}, std::numeric_limits<double>::infinity()).values<float>()[0]));
}

TEST_CASE("tensor functions: random numbers depend on the seed and have the requested moments") {
  const auto uniform = random_uniform(f64, {100, 100}, 1, -2, 6),
             normal = random_normal(f64, {100, 100}, 1, 3, 0.5);
  CHECK(same_bits(uniform, random_uniform(f64, {100, 100}, 1, -2, 6)));
  CHECK_FALSE(same_bits(uniform, random_uniform(f64, {100, 100}, 2, -2, 6)));
  const auto moments = [](const Tensor& tensor) {
    double sum = 0, squares = 0;
    for (const double x : tensor.values<double>()) sum += x, squares += x * x;
    const double mean = sum / 10000;
    return std::pair(mean, std::sqrt(squares / 10000 - mean * mean));
  };
  CHECK(std::abs(moments(uniform).first - 2) < 0.1);  // 4 standard deviations of the mean are 0.092
  CHECK(std::abs(moments(uniform).second - 8 / std::sqrt(12)) < 0.06);
  CHECK(std::abs(moments(normal).first - 3) < 0.025);
  CHECK(std::abs(moments(normal).second - 0.5) < 0.02);
  for (const double x : uniform.values<double>()) REQUIRE((x >= -2 && x < 6));
  CHECK(failure_of([] { random_uniform(i32, {1}, 0); }).message.ends_with(", not int32"));
}

TEST_CASE("tensor functions: rows() shares memory if possible") {
  const auto whole = arange(f32, 12).reshape({4, 3});
  const auto part = rows(whole, 1, 3);
  CHECK(part.data() == whole.data<float>() + 3);
  CHECK(same_bits(part, Tensor::from({3.f, 4.f, 5.f, 6.f, 7.f, 8.f}, {2, 3})));
  CHECK(rows(whole, 2, 2).shape() == Shape{0, 3});
  const auto sparse = cast_storage(whole, Storage::csr);
  CHECK(same_bits(cast_storage(rows(sparse, 1, 3), Storage::dense), part));
  CHECK(failure_of([&] { rows(whole, 3, 5); }).message ==
        "the tensor has 4 rows, but rows 3 to 5 are requested");
  CHECK(failure_of([&] { rows(whole, -1, 2); }).message ==
        "the tensor has 4 rows, but rows -1 to 2 are requested");
  CHECK(failure_of([&] { rows(whole, 3, 2); }).message ==
        "the tensor has 4 rows, but rows 3 to 2 are requested");
  CHECK(failure_of([&] { rows(full(f32, Shape::scalar(), 1), 0, 0); }).message ==
        "a scalar has no rows");
  CHECK_FALSE(
      failure_of([&] { rows(cast_storage(whole, Storage::row_sparse), 0, 1); }).message.empty());
}

TEST_CASE("tensor functions: all_close() by dtype, storage and special values") {
  const auto one = [](double value) { return full(f64, {1}, value); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  struct Case {
    double found, expected, rtol, atol;
    bool close;
    bool equal_nan = false;
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
      {nan, nan, 0, 0, true, true},
      {nan, 1, 9, 9, false, true},
      {1, nan, 9, 9, false, true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.found);
    CAPTURE(c.expected);
    CHECK(static_cast<bool>(
              all_close(one(c.found), one(c.expected), {c.rtol, c.atol, c.equal_nan})) == c.close);
  }
  CHECK(all_close(full(f32, {1}, 1), one(1)).text == "float32 [1] is compared with float64 [1]");
  CHECK(all_close(full(f64, {2}, 1), one(1)).text == "float64 [2] is compared with float64 [1]");
  CHECK(all_close(full(f16, {1}, 1), full(f16, {1}, 1.0009765625)));
  CHECK_FALSE(all_close(full(f32, {1}, 1), full(f32, {1}, 1.0009765625)));
  CHECK_FALSE(all_close(arange(i32, 2), arange(i32, 2, 1)));
  const auto matrix = arange(f32, 6).reshape({2, 3});
  CHECK(all_close(cast_storage(matrix, Storage::csr), matrix));
}

TEST_CASE(
    "tensor functions: a comparison reports the number of differences, the first and the worst") {
  const auto zeros = Tensor::zeros(f64, {2, 3});
  const auto with = [&](std::initializer_list<double> values) {
    return Tensor::from(values, {2, 3});
  };
  const auto one = all_close(with({0, 0, 0, 0, 1.5, 0}), zeros);
  check_says(one.text,
             {"1 of 6 elements differs", "at [1, 1] 1.5 instead of 0", "1e-08 is allowed"});
  CHECK(one.different == 1);
  const auto several = all_close(with({0, 1, 0, -7, 2, 0}), zeros, {.atol = 0.5});
  check_says(several.text, {"3 of 6 elements differ", "at [0, 1] 1 instead of 0",
                            "the worst at [1, 0] -7 instead of 0", "0.5 is allowed"});
  CHECK(several.different == 3);
  CHECK(several.first == std::vector<std::int64_t>{0, 1});
  CHECK(several.worst == std::vector<std::int64_t>{1, 0});
  // The worst difference is relative to its tolerance, and nan is worse than any number.
  CHECK(
      all_close(with({0, 1, 0, 1000, 0, 0}), with({0, 0, 0, 990, 0, 0}), {.rtol = 0.0099}).worst ==
      std::vector<std::int64_t>{0, 1});
  CHECK(all_close(with({0, 1, 0, std::nan(""), 1e300, 0}), zeros).worst ==
        std::vector<std::int64_t>{1, 0});
  CHECK(all_close(full(boolean, Shape::scalar(), 1), full(boolean, Shape::scalar(), 0)).text ==
        "1 of 1 elements differs: at [] 1 instead of 0, where 1e-08 is allowed");
  std::ostringstream printed;
  printed << several << '|' << all_close(zeros, zeros);
  CHECK(printed.str() == several.text + "|close");
}

TEST_CASE("tensor functions: random tensors of any dtype, storage and density") {
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    for (const auto storage : {Storage::dense, Storage::csr, Storage::row_sparse}) {
      const auto dtype = static_cast<DType>(i);
      CAPTURE(name_of(dtype));
      CAPTURE(static_cast<int>(storage));
      if (low_bit.has(dtype) && (storage != Storage::dense || dtype == f8e8m0fnu)) continue;
      const auto tensor =
          random_tensor(dtype, {8, 5}, {.storage = storage, .density = 0.5, .seed = 7});
      CHECK(tensor.dtype() == dtype);
      CHECK(tensor.shape() == Shape{8, 5});
      CHECK(tensor.storage() == storage);
      CHECK(tensor.stored() == (storage == Storage::dense ? 0 : storage == Storage::csr ? 20 : 4));
      CHECK(same_bits(
          tensor, random_tensor(dtype, {8, 5}, {.storage = storage, .density = 0.5, .seed = 7})));
      CHECK_FALSE(same_bits(
          tensor, random_tensor(dtype, {8, 5},
                                {.storage = storage, .density = 0.5, .seed = 7, .stream = 1})));
    }
}

TEST_CASE("tensor functions: random tensors respect their bounds and density") {
  const auto extremes = [](const Tensor& tensor) {
    const auto values = tensor.values<double>();
    return std::pair(*std::min_element(values.begin(), values.end()),
                     *std::max_element(values.begin(), values.end()));
  };
  const auto [least, most] = extremes(random_tensor(f64, {1000}));
  CHECK((least >= -1 && least < -0.98 && most < 1 && most > 0.98));
  const auto [low, high] = extremes(random_tensor(f64, {1000}, {.low = 5, .high = 7}));
  CHECK((low >= 5 && low < 5.02 && high < 7 && high > 6.98));
  std::vector<int> counts(10);
  const auto digits = random_tensor(u8, {1000});
  for (const auto value : digits.values<std::uint8_t>()) ++counts.at(value);
  // 100 each, with a standard deviation of 9.5
  CHECK(*std::min_element(counts.begin(), counts.end()) > 60);
  const auto negative = random_tensor(i32, {100}, {.low = -3, .high = -1});
  for (const auto value : negative.values<std::int32_t>()) REQUIRE((value == -3 || value == -2));
  const auto third = random_tensor(f64, {300}, {.density = 1.0 / 3});
  CHECK(std::count(third.values<double>().begin(), third.values<double>().end(), 0.0) == 200);
  // All positions are equally likely: each is chosen 40 times on average over 200 seeds, with a
  // standard deviation of 5.7; allow 20 to 100.
  std::vector<int> chosen(100);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto sparse = random_tensor(f32, {100}, {.density = 0.2, .seed = seed});
    for (std::size_t i = 0; i < 100; ++i) chosen[i] += sparse.values<float>()[i] != 0;
  }
  for (const int times : chosen) CHECK((times > 15 && times < 68));
  CHECK(random_tensor(f32, {0, 3}, {.storage = Storage::csr}).stored() == 0);
  CHECK(random_tensor(f32, {3, 0}, {.storage = Storage::csr}).stored() == 0);
  CHECK(random_tensor(f32, {3, 3}, {.storage = Storage::csr, .density = 0}).stored() == 0);
}

TEST_CASE("tensor functions: refuse impossible random tensors") {
  const auto message = [](DType dtype, const Shape& shape, const RandomOptions& options) {
    return failure_of([&] { random_tensor(dtype, shape, options); }).message;
  };
  CHECK(message(f32, {2}, {.density = 1.5}) == "random_tensor: the density is 1.5");
  CHECK(message(f32, {2}, {.density = std::nan("")}) == "random_tensor: the density is nan");
  CHECK(message(f32, {2}, {.low = 2}) == "random_tensor: numbers in [2, 1) are requested");
  CHECK(message(f32, {2}, {.high = std::nan("")}) ==
        "random_tensor: numbers in [-1, nan) are requested");
  CHECK(message(u8, {2}, {.low = -1}) ==
        "random_tensor: uint8 does not hold the numbers in [-1, 10)");
  CHECK(message(u8, {2}, {.high = 257}) ==
        "random_tensor: uint8 does not hold the numbers in [0, 257)");
  CHECK(message(u8, {2}, {.high = 256}).empty());
  CHECK(message(i32, {2}, {.high = 0.5}) ==
        "random_tensor: int32 does not hold the numbers in [0, 0.5)");
  CHECK(message(f16, {2}, {.high = 1e6}) ==
        "random_tensor: float16 does not hold the numbers in [-1, 1000000)");
  CHECK(message(f32, {2}, {.storage = Storage::csr}) ==
        "random_tensor: a csr tensor of shape [2] is requested");
  CHECK(message(f32, Shape::scalar(), {.storage = Storage::row_sparse}) ==
        "random_tensor: a row_sparse scalar is requested");
  CHECK_FALSE(message(f32, {-1}, {}).empty());
}

// Tensors of the dtypes added in 0.2: text, random numbers, strides, sparse storage, comparisons;
// and complex arithmetic compared with std::complex.
#include <doctest/doctest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <tenon/complex.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("dtypes of 0.2: text") {
  CHECK(Tensor::from<std::int16_t>({-300, 7}, {2}).to_string() == "int16 [2]  -300 7");
  CHECK(Tensor::from<std::uint16_t>({65535}, {1}).to_string() == "uint16 [1]  65535");
  CHECK(Tensor::from<std::uint32_t>({4294967295U}, {1}).to_string() == "uint32 [1]  4294967295");
  CHECK(Tensor::from<std::uint64_t>({UINT64_MAX}, {1}).to_string() ==
        "uint64 [1]  18446744073709551615");
  CHECK(Tensor::from<Complex<float>>({{1, -2.5F}, {0, 0}}, {2}).to_string() ==
        "complex64 [2]  1-2.5j 0+0j");
  CHECK(Tensor::from<Complex<double>>({{-1e300, 3}}, {1}).to_string() ==
        "complex128 [1]  -1e+300+3j");
}

TEST_CASE("dtypes of 0.2: type sets, sizes and the layout that other libraries expect") {
  CHECK(integral == Types{u8, i8, i32, i64});  // unchanged from 0.1
  CHECK(any_type == Types{boolean, u8, i8, i32, i64, f16, bf16, f32, f64});
  CHECK(every_type == any_type + Types{i16, u16, u32, u64, c64, c128});
  CHECK(size_of(c64) == sizeof(std::complex<float>));
  CHECK(size_of(c128) == sizeof(std::complex<double>));
  const Complex<double> z(1.5, -2);
  std::complex<double> other;
  std::memcpy(static_cast<void*>(&other), &z, sizeof z);
  CHECK(other == std::complex<double>(1.5, -2));
}

TEST_CASE("complex numbers: arithmetic agrees with std::complex") {
  const double parts[] = {0, -0.0, 1, -1.25, 3e-3, 7e5, 1e200, -1e-200};
  int compared = 0;
  for (const double a : parts)
    for (const double b : parts)
      for (const double c : parts)
        for (const double d : parts) {
          const std::complex<double> l(a, b), r(c, d);
          const Complex<double> x(a, b), y(c, d);
          const auto same = [&](Complex<double> found, std::complex<double> expected) {
            if (!std::isfinite(expected.real()) || !std::isfinite(expected.imag()))
              return;  // Annex G differs there
            ++compared;
            const auto size = std::max({std::abs(expected), 1e-300});
            CHECK(std::abs(std::complex<double>(found.re, found.im) - expected) <= 1e-13 * size);
          };
          same(x + y, l + r), same(x - y, l - r), same(-x, -l), same(conj(x), std::conj(l));
          if (std::abs(l) < 1e100 && std::abs(r) < 1e100 && std::abs(l) > 1e-100 &&
              std::abs(r) > 1e-100)
            same(x * y, l * r);
          if (std::abs(r) > 1e-100 && std::abs(r) < 1e100 && std::abs(l) < 1e100 &&
              (std::abs(l) > 1e-100 || l == 0.0))
            same(x / y, l / r);
          CHECK((x == y) == (l == r));
        }
  CHECK(compared > 10000);
  const auto by_large =
      Complex<double>(1e200, 1e200) / Complex<double>(1e200, 1e200);  // the squares overflow
  CHECK(by_large == Complex<double>(1));
  CHECK(std::isinf((Complex<double>(1, 1) / Complex<double>(0)).re));
}

TEST_CASE("complex numbers: random components are independent; comparison is by distance") {
  const auto drawn = random_uniform(c64, {2000}, 5, -1, 3);
  double re = 0, im = 0, product = 0;
  for (const auto z : drawn.values<Complex<float>>()) {
    CHECK((z.re >= -1 && z.re < 3 && z.im >= -1 && z.im < 3));
    re += z.re, im += z.im, product += (z.re - 1.0) * (z.im - 1.0);
  }
  CHECK(std::abs(re / 2000 - 1) < 0.13);  // 5 standard deviations of the mean
  CHECK(std::abs(im / 2000 - 1) < 0.13);
  CHECK(std::abs(product / 2000) < 0.15);  // the components are independent
  const auto one = Tensor::from<Complex<double>>({{3, 4}}, {1});
  CHECK(all_close(one, Tensor::from<Complex<double>>({{3, 4 + 1e-9}}, {1})));
  CHECK_FALSE(all_close(one, Tensor::from<Complex<double>>({{3, -4}}, {1})));
  check_says(failure_of([] { random_uniform(u16, {2}, 0); }).message,
             {"random numbers", "floating-point or complex dtype", "not uint16"});
}

TEST_CASE("complex128: strided views are copied completely, and storage casts keep the numbers") {
  const auto whole = random_normal(c128, {3, 4}, 1);
  const auto turned =
      Tensor::borrow(whole.data(), c128, {4, 3}, std::vector<std::int64_t>{1, 4}, nullptr)
          .make_contiguous();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      CHECK(turned.values<Complex<double>>()[j * 3 + i] ==
            whole.values<Complex<double>>()[i * 4 + j]);
  const auto sparse = Tensor::from<Complex<double>>({{0, 0}, {0, 2}, {0, 0}, {0, 0}}, {2, 2});
  const auto csr = cast_storage(sparse, Storage::csr);
  CHECK(csr.stored() == 1);
  CHECK(same_bits(cast_storage(csr, Storage::dense), sparse));
  CHECK(cast_storage(sparse, Storage::row_sparse).stored() == 1);
}

TEST_CASE("low-bit dtypes: text, filled tensors, random numbers, comparisons") {
  const auto eights = full(f8e4m3fn, {2}, -1.3);
  CHECK(eights.to_string() == "float8_e4m3fn [2]  -1.25 -1.25");
  CHECK(eights.bytes() == 2);
  CHECK(full(i4, {1}, -8).to_string() == "int4 [1]  -8");
  CHECK(full(f8e8m0fnu, {1}, 4).to_string() == "float8_e8m0fnu [1]  4");
  const auto message = [](DType dtype, double value) {
    return failure_of([&] { full(dtype, {1}, value); }).message;
  };
  CHECK(message(i4, 8) == "8 does not fit into int4");
  CHECK(message(u2, 0.5) == "0.5 does not fit into uint2");
  CHECK(message(f4e2m1fn, 6.5) == "6.5 does not fit into float4_e2m1fn");
  CHECK(message(f8e4m3fn, 500) == "500 does not fit into float8_e4m3fn");
  CHECK(message(f8e8m0fnu, 0) == "0 does not fit into float8_e8m0fnu");
  CHECK(message(f8e8m0fnu, -1) == "-1 does not fit into float8_e8m0fnu");
  CHECK(message(f8e8m0fnu, -std::numeric_limits<double>::infinity()) ==
        "-inf does not fit into float8_e8m0fnu");
  CHECK(full(f8e8m0fnu, {1}, std::nan("")).to_string().ends_with("nan"));
  CHECK(full(f8e5m2, {1}, std::numeric_limits<double>::infinity()).to_string().ends_with("inf"));
  for (const auto dtype :
       {f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0fnu, f4e2m1fn, i4, u4, i2, u2}) {
    CAPTURE(name_of(dtype));
    const auto drawn = random_tensor(dtype, {500});
    CHECK(all_close(drawn, drawn.clone()));
    CHECK_FALSE(all_close(drawn, random_tensor(dtype, {500}, {.seed = 1})));
    CHECK_FALSE(drawn.to_string(500).find(' ') == std::string::npos);
    check_says(failure_of([&] {
                 cast_storage(full(dtype, {2, 2}, 1), Storage::csr);
               }).message,
               {name_of(dtype), "cannot become sparse"});
    check_says(
        failure_of([&] {
          Tensor::row_sparse(full(dtype, {1, 2}, 1), Tensor::from<std::int64_t>({0}, {1}), {3, 2});
        }).message,
        {name_of(dtype), "a dtype of dense tensors only"});
  }
  CHECK(all_close(full(f8e5m2, {1}, 1), full(f8e5m2, {1}, 1.25)).text ==
        "1 of 1 elements differs: at [0] 1 instead of 1.25, where 1e-08 is allowed");
}

TEST_CASE("low-bit dtypes: strided views are copied completely") {
  const auto whole = random_tensor(i4, {3, 4});
  const auto turned =
      Tensor::borrow(whole.data(), i4, {4, 3}, std::vector<std::int64_t>{1, 4}, nullptr)
          .make_contiguous();
  const auto* from = static_cast<const std::uint8_t*>(whole.data());
  const auto* to = static_cast<const std::uint8_t*>(turned.data());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) CHECK(to[j * 3 + i] == from[i * 4 + j]);
}

// Tensors of any dtype as doubles and back, for the naive references of these tests.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "check_says.hpp"

namespace plugin_tests {

using tenon::Attributes;
using tenon::DType;
using tenon::Shape;
using tenon::Tensor;
using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

inline constexpr double inf = std::numeric_limits<double>::infinity(),
                        nan_value = std::numeric_limits<double>::quiet_NaN();
inline const DType floating_dtypes[] = {tenon::f16, tenon::bf16, tenon::f32, tenon::f64};
inline const DType integer_dtypes[] = {tenon::u8, tenon::i8, tenon::i32, tenon::i64};

inline std::string name(DType dtype) {
  return tenon::name_of(dtype);
}

/// A host with the bundled plugins only.
tenon::Host& host();

template <class T>
double widen(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T narrow(double value) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

inline Doubles doubles(const Tensor& tensor) {
  Doubles result;
  tenon::visit(tensor.dtype(), [&]<class T>() {
    for (const T value : tensor.values<T>()) result.push_back(widen(value));
  });
  return result;
}

inline Tensor tensor(DType dtype, const Shape& shape, const Doubles& values) {
  Tensor result = Tensor::empty(dtype, shape);
  REQUIRE(result.size() == static_cast<std::int64_t>(values.size()));
  tenon::visit(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) result.data<T>()[i] = narrow<T>(values[i]);
  });
  return result;
}

/// Pseudorandom numbers from low to high; integers for integer dtypes. Deterministic for a seed.
Tensor arbitrary(DType dtype, const Shape& shape, double low, double high, unsigned seed = 1);

/// Half a unit in the last place of a number near 1.
double epsilon(DType dtype);

/// Checks shape and dtype of `found`, and that each element is within tolerance * max(1,
/// |expected|), or nan if that is expected.
void check_near(const Tensor& found, DType dtype, const Shape& shape, const Doubles& expected,
                double tolerance);

/// The message and the hint of the failure of a call.
std::string failure(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes = {});

/// Adds in long double.
double sum_of(const Doubles& values);
double mean_of(const Doubles& values);

/// All positions of a shape, in row-major order.
std::vector<Integers> positions(const Shape& shape);
/// Index of the element at a position; sizes of 1 and missing leading axes are broadcast as in
/// numpy.
std::size_t offset(const Shape& shape, const Integers& position);

}  // namespace plugin_tests

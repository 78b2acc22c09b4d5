#pragma once
#include <cmath>

#include "draw.hpp"

/// Returns a number in [0, 1) with as many random bits as T's significand has: with more, the
/// result could round to 1.
template <class T>
TENON_FN double random_fraction(const std::uint32_t* words) {
  if constexpr (std::is_same_v<T, double>) {
    return uniform53(words);
  } else {
    constexpr int bits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, tenon::half> ? 11 : 8;
    return static_cast<double>(*words >> (32 - bits)) / static_cast<double>(1 << bits);
  }
}

template <class T>
struct UniformNumbers {
  double low, high;
  T max_value;  ///< largest T below high

  TENON_FN void operator()(const std::uint32_t* words, T* numbers) const {
    for (int n = 0; n < per_block<T>; ++n) {
      const double u = random_fraction<T>(words + n * (4 / per_block<T>));
      const auto value =
          static_cast<T>(static_cast<Plain<T>>(sum_of_products(low, 1 - u, high, u)));
      numbers[n] = Plain<T>(value) < Plain<T>(max_value) ? value : max_value;
    }
  }
};

struct Uniform : Draw {
  double low = 0, high = 1;

  static constexpr void describe(auto& op) {
    op.doc("random numbers from a uniform distribution over [low, high)");
    describe_draw(op);
    op.param("low", &Uniform::low, "lower bound (inclusive)");
    op.param("high", &Uniform::high, "upper bound (exclusive), greater than low");
    op.example({}, {{"shape", {2, 3}}});
    describe_onnx(op.onnx("", "RandomUniform")).attribute("low", "low").attribute("high", "high");
  }

  void infer(tenon::Infer& io) const {
    Draw::infer(io);
    // negated to reject nan, too
    if (!(low < high))
      io.param_error("high", "is ", high, "; needs to be greater than low, which is ", low);
    const auto limit = max_finite(dtype);
    if (!(low >= -limit))
      io.param_error("low", "is ", low, ", below the minimum of the dtype, ", -limit);
    if (!(high <= limit))
      io.param_error("high", "is ", high, ", above the maximum of the dtype, ", limit);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(dtype, [&]<class T>() { fill<T>(call, numbers<T>()); });
  }

 protected:
  template <class T>
  UniformNumbers<T> numbers() const {
    return {low, high, below_high<T>()};
  }

 private:
  /// Returns the largest T below high.
  template <class T>
  T below_high() const {
    auto value = static_cast<T>(static_cast<Plain<T>>(high));
    while (static_cast<double>(Plain<T>(value)) >= high) value = previous(value);
    return value;
  }

  template <class T>
  static T previous(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::nextafter(value, -INFINITY);
    } else {
      const auto bits = value.bits();
      if ((bits & 0x7fff) == 0) return T::from_bits(0x8001);
      return T::from_bits(static_cast<std::uint16_t>(bits & 0x8000 ? bits + 1 : bits - 1));
    }
  }
};

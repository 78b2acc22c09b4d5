#pragma once
#include <cmath>
#include <numbers>

#include "draw.hpp"

/// Box-Muller transform: maps two uniform numbers to two normal ones.
template <class T>
struct NormalNumbers {
  double mean, sd;

  TENON_FN void operator()(const std::uint32_t* words, T* numbers) const {
    constexpr bool wide = std::is_same_v<T, double>;
    for (int n = 0; n < per_block<T>; n += 2) {
      const double above_zero = wide ? 1 - uniform53(words) : (words[n] + 1.0) * 0x1p-32;
      const double turn = wide ? uniform53(words + 2) : words[n + 1] * 0x1p-32;
      const double radius = sd * std::sqrt(-2 * std::log(above_zero)),
                   angle = 2 * std::numbers::pi * turn;
      numbers[n] =
          static_cast<T>(static_cast<Plain<T>>(sum_of_products(mean, 1, radius, std::cos(angle))));
      numbers[n + 1] =
          static_cast<T>(static_cast<Plain<T>>(sum_of_products(mean, 1, radius, std::sin(angle))));
    }
  }
};

struct Normal : Draw {
  double mean = 0, sd = 1;

  static constexpr void describe(auto& op) {
    op.doc(
        "random numbers from the normal distribution with mean `mean` and standard deviation `sd`");
    describe_draw(op);
    op.param("mean", &Normal::mean, "mean of the distribution");
    op.param("sd", &Normal::sd, "standard deviation of the distribution").at_least(0);
    op.example({}, {{"shape", {2, 3}}});
    describe_onnx(op.onnx("", "RandomNormal")).attribute("mean", "mean").attribute("scale", "sd");
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(dtype, [&]<class T>() {
      fill<T>(call, NormalNumbers<T>{mean, sd});
    });
  }
};

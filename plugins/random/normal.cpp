#include <cmath>
#include <numbers>

#include "draw.hpp"

struct Normal : Draw {
  double mean = 0, sd = 1;

  static constexpr void describe(auto& op) {
    op.doc("random numbers of the normal distribution");
    describe_draw(op);
    op.param("mean", &Normal::mean, "mean of the distribution");
    op.param("sd", &Normal::sd, "standard deviation").at_least(0);
  }

  /// Box and Muller's transform: two uniform numbers become two normal ones.
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(dtype, [&]<class T>() {
      constexpr bool wide = std::is_same_v<T, double>;
      fill<wide ? 2 : 4, T>(call, [&](const std::uint32_t* words, T* numbers) {
        for (int n = 0; n < (wide ? 2 : 4); n += 2) {
          const double above_zero = wide ? 1 - uniform53(words) : (words[n] + 1.0) * 0x1p-32;
          const double turn = wide ? uniform53(words + 2) : words[n + 1] * 0x1p-32;
          const double radius = sd * std::sqrt(-2 * std::log(above_zero)), angle = 2 * std::numbers::pi * turn;
          numbers[n] = static_cast<T>(static_cast<Plain<T>>(mean + radius * std::cos(angle)));
          numbers[n + 1] = static_cast<T>(static_cast<Plain<T>>(mean + radius * std::sin(angle)));
        }
      });
    });
  }
};
TENON_OPERATOR(normal, Normal)

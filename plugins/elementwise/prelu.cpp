#include <tenon/elementwise.hpp>

#include "wrapping.hpp"

struct Prelu : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("slope * x where x < 0, else x; integers wrap around");
    op.types(tenon::floating + tenon::Types{tenon::i32, tenon::i64, tenon::u32, tenon::u64});
    op.input("x", "any numbers");
    op.input("slope", "slope for negative x; for one slope per channel of images, its shape is [channels, 1, 1]");
    op.output("y", "the inputs' shapes broadcast together");
    op.onnx("", "PRelu").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x, T slope) const {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return where(x < T(0),
                   wrapping(
                       slope, x, [](auto l, auto r) { return l * r; }),
                   x);
    }
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy, tenon::InputOf<T> x, tenon::InputOf<T> slope) const {
    const T v = x;
    return {where(v < T(0), T(slope) * dy, dy), where(v < T(0), v * dy, T(0))};
  }
};
TENON_OPERATOR(prelu, Prelu)

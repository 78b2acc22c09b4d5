#include <limits>
#include <tenon/elementwise.hpp>

#include "saturate.hpp"

struct Clip : tenon::Elementwise {
  double low = 0, high = 0;

  static constexpr void describe(auto& op) {
    op.doc("x clamped to [low, high], element by element; nan stays nan");
    op.types(tenon::any_real);
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.param("low", &Clip::low, "lower bound; truncated toward zero for integer x").required();
    op.param("high", &Clip::high, "upper bound; truncated toward zero for integer x").required();
    op.example({{"x", {2, 3}}}, {{"low", -0.5}, {"high", 0.5}});
    constexpr double end = 3.4028234663852886e+38, infinity = std::numeric_limits<double>::infinity();
    op.onnx("", "Clip").since(6).until(10).attribute("min", "low", -end).attribute("max", "high", end);
    op.onnx("", "Clip").since(11).input_as("low", 1, -infinity).input_as("high", 2, infinity);
  }

  void configure() {
    if (!(low <= high)) throw tenon::Error(tenon::ErrorKind::parameter, "low is ", low, " and high is ", high, "; needs low <= high");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    const T lowest = bound<T>(low), highest = bound<T>(high);
    return where(x < lowest, lowest, where(x > highest, highest, x));
  }

 private:
  template <class T>
  TENON_FN static T bound(double value) {
    if constexpr (std::is_integral_v<T>) {
      return saturate<T>(value);
    } else {
      return T(value);
    }
  }
};
TENON_OPERATOR(clip, Clip)

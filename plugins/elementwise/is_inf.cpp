#include <tenon/elementwise.hpp>

struct IsInf : tenon::Elementwise {
  bool detect_negative = true, detect_positive = true;

  static constexpr void describe(auto& op) {
    op.doc("whether x is infinite, element by element");
    op.input("x", "any numbers");
    op.output("y", "bool, same shape as x");
    op.param("detect_negative", &IsInf::detect_negative, "whether -inf counts");
    op.param("detect_positive", &IsInf::detect_positive, "whether +inf counts");
    op.onnx("", "IsInf").since(10).attribute("detect_negative", "detect_negative").attribute("detect_positive", "detect_positive");
  }

  template <class T>
  TENON_FN bool operator()(T x) const {
    const T infinity = T(__builtin_inff());
    return (detect_negative & (x == -infinity)) | (detect_positive & (x == infinity));
  }
};
TENON_OPERATOR(is_inf, IsInf)

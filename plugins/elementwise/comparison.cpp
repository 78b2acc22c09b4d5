// Comparisons and selection.
#include <tenon/elementwise.hpp>

struct Equal : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left == right, element by element");
    op.types(tenon::every_type);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Equal").since(7);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left == right;
  }
};
TENON_OPERATOR(equal, Equal)

struct NotEqual : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left != right, element by element; true if either is NaN");
    op.types(tenon::every_type);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left != right;
  }
};
TENON_OPERATOR(not_equal, NotEqual)

struct Less : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left < right, element by element");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Less").since(7);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left < right;
  }
};
TENON_OPERATOR(less, Less)

struct LessEqual : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left <= right, element by element; false if either is NaN");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "LessOrEqual").since(12);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left <= right;
  }
};
TENON_OPERATOR(less_equal, LessEqual)

struct Greater : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left > right, element by element");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Greater").since(7);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left > right;
  }
};
TENON_OPERATOR(greater, Greater)

struct GreaterEqual : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left >= right, element by element; false if either is NaN");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "GreaterOrEqual").since(12);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left >= right;
  }
};
TENON_OPERATOR(greater_equal, GreaterEqual)

struct IsInf : tenon::Elementwise {
  bool detect_negative = true, detect_positive = true;

  static constexpr void describe(auto& op) {
    op.doc("true where x is infinite, element by element (torch.isinf)");
    op.input("x", "any shape");
    op.output("y", "bool, same shape as x");
    op.param("detect_negative", &IsInf::detect_negative, "return true for -inf");
    op.param("detect_positive", &IsInf::detect_positive, "return true for +inf");
    op.onnx("", "IsInf")
        .since(10)
        .attribute("detect_negative", "detect_negative")
        .attribute("detect_positive", "detect_positive");
  }

  template <class T>
  TENON_FN bool operator()(T x) const {
    const T infinity = T(__builtin_inff());
    return (detect_negative & (x == -infinity)) | (detect_positive & (x == infinity));
  }
};
TENON_OPERATOR(is_inf, IsInf)

struct IsNan : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("true where x is NaN, element by element (torch.isnan)");
    op.input("x", "any shape");
    op.output("y", "bool, same shape as x");
    op.onnx("", "IsNaN").since(9);
  }

  template <class T>
  TENON_FN bool operator()(T x) const {
    return x != x;
  }
};
TENON_OPERATOR(is_nan, IsNan)

struct Where : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("yes where condition is true, else no, element by element");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("condition", "any shape; true selects yes, false selects no").types({tenon::boolean});
    op.input("yes",
             "values where condition is true; a shape that broadcasts with the other inputs");
    op.input("no",
             "values where condition is false; a shape that broadcasts with the other inputs");
    op.output("output", "the inputs' shapes broadcast together");
    op.example({{"condition", {2, 3}}, {"yes", {2, 3}}, {"no", {2, 3}}});
    op.onnx("", "Where").since(9);
  }

  template <class T>
  TENON_FN T operator()(T condition, T yes, T no) const {
    return where(condition != T(0), yes, no);
  }
};
TENON_OPERATOR(where, Where)

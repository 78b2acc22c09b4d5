// Trigonometric functions and their inverses.
#include <tenon/elementwise.hpp>

struct Sin : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("sine of x, element by element");
    op.input("x", "angles in radians, any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Sin").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return sin(x);
  }
};
TENON_OPERATOR(sin, Sin)

struct Cos : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("cosine of x, element by element");
    op.input("x", "angles in radians, any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Cos").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return cos(x);
  }
};
TENON_OPERATOR(cos, Cos)

struct Tan : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("tangent of x, element by element");
    op.input("x", "angles in radians, any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Tan").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return tan(x);
  }
};
TENON_OPERATOR(tan, Tan)

struct Asin : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "inverse sine of x in radians, from -pi/2 to pi/2, element by element; NaN outside [-1, "
        "1]");
    op.input("x", "sines in [-1, 1], any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Asin").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return asin(x);
  }
};
TENON_OPERATOR(asin, Asin)

struct Acos : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse cosine of x in radians, from 0 to pi, element by element; NaN outside [-1, 1]");
    op.input("x", "cosines in [-1, 1], any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Acos").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return acos(x);
  }
};
TENON_OPERATOR(acos, Acos)

struct Atan : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse tangent of x in radians, from -pi/2 to pi/2, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Atan").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return atan(x);
  }
};
TENON_OPERATOR(atan, Atan)

// A parameter with a range: scale must be above 0, and the catalog, the checks and the help all
// know it.   Also compiles as CUDA.

struct Cosine : tenon::Elementwise {
  float scale = 1;

  static constexpr void describe(auto& op) {
    op.doc("scale * cos(x), element by element");
    op.input("x", "angles in radians");
    op.output("y", "same shape as x");
    op.param("scale", &Cosine::scale, "multiplier").greater_than(0);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return scale * cos(x);
  }
};
TENON_OPERATOR(cosine, Cosine)

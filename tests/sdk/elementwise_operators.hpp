// Elementwise operators of the kinds that the SDK must support, for tests.
#pragma once

#include <tenon/elementwise.hpp>

#include "../gated.hpp"

namespace {

struct Quadratic : tenon::Elementwise {
  float a = 0, b = 0, c = 0;
  static constexpr void describe(auto& op) {
    op.doc("a x^2 + b x + c");
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.param("a", &Quadratic::a, "of x^2");
    op.param("b", &Quadratic::b, "of x");
    op.param("c", &Quadratic::c, "constant");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return a * x * x + b * x + c;
  }
};

/// Any number, two inputs, derivative by dual numbers.
struct Combine : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("2 left + right, modulo 2^bits for integers");
    op.types(tenon::numeric);
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("sum", "both broadcast");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return T(left + left + right);
  }
};

struct Product : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left * right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("product", "both broadcast");
    op.zero_where("left");
    op.zero_where("right");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left * right;
  }
};

/// In float, it and its derivative are 0 at 0, unlike in double.
struct Tiny : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("e^(x - 200)");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return exp(x - T(200));
  }
};

/// A result of a fixed type.
struct Greater : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left > right");
    op.types(tenon::any_type);
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("result", "both broadcast");
  }
  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left > right;
  }
};

/// An input with its own dtype.
struct Choose : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("yes where condition is not 0, else no");
    op.types(tenon::floating);
    op.input("condition", "any shape").types(tenon::any_type);
    op.input("yes", "any shape");
    op.input("no", "any shape");
    op.output("result", "all three broadcast");
  }
  template <class T>
  TENON_FN T operator()(T condition, T yes, T no) const {
    return where(condition != T(0), yes, no);
  }
};

/// A derivative that reads the output.
struct Tanh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("tanh(x)");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return tanh(x);
  }
  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    return dy * (T(1) - y * y);
  }
};

/// A derivative that reads the input.
struct Cube : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x^3");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x * x * x;
  }
  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return T(3) * x * x * dy;
  }
};

/// Two derivatives that read nothing.
struct Difference : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left - right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("difference", "both broadcast");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left - right;
  }
  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy) const {
    return {dy, -dy};
  }
};

/// Two derivatives that read both inputs.
struct Ratio : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left / right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("ratio", "both broadcast");
    op.zero_where("left");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left / right;
  }
  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy, tenon::InputOf<T> left, tenon::InputOf<T> right) const {
    return {dy / right, -dy * left / (right * right)};
  }
};

}  // namespace

// Activations that operators apply to what they have just computed: the functions of the operators of the same names, bit for bit.
#pragma once
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <tenon/elementwise/for_each.hpp>

#include "gelu.hpp"
#include "sigmoid.hpp"

enum class ActivationKind : std::int32_t { none, relu, leaky_relu, gelu, sigmoid, tanh, clip };

/// The formulas, one place for operators and for what is fused with them.
struct ActivationFormulas : SigmoidFormula, GeluFormula {
  template <class T>
  TENON_FN static T relu_of(T x) {
    return where(x < T(0), T(0), x);
  }
  template <class T>
  TENON_FN static T leaky_relu_of(T x, double slope) {
    return where(x < T(0), T(slope) * x, x);
  }
  template <class T>
  TENON_FN static T tanh_of(T x) {
    return tanh(x);
  }
  template <class T>
  TENON_FN static T clip_of(T x, T lowest, T highest) {
    return where(x < lowest, lowest, where(x > highest, highest, x));
  }
};

/// The base of an operator with an activation.
struct WithActivation : tenon::Operator {
  ActivationKind activation = ActivationKind::none;
  double slope = 0.01, low = 0, high = 0;

  static constexpr void describe_activation(auto& op) {
    using Kind = ActivationKind;
    op.param("activation", &WithActivation::activation, "what the sums go through: the operator of that name, or none")
        .one_of({{"none", Kind::none},
                 {"relu", Kind::relu},
                 {"leaky_relu", Kind::leaky_relu},
                 {"gelu", Kind::gelu},
                 {"sigmoid", Kind::sigmoid},
                 {"tanh", Kind::tanh},
                 {"clip", Kind::clip}});
    op.param("slope", &WithActivation::slope, "leaky_relu's factor of negative numbers");
    op.param("low", &WithActivation::low, "clip's smallest result");
    op.param("high", &WithActivation::high, "clip's largest result");
  }

  void configure() {
    if (activation == ActivationKind::clip && !(low <= high))
      throw tenon::Error(tenon::ErrorKind::parameter, "low is ", low, " and high is ", high, "; needs low <= high");
  }

  /// Rows of a matrix, and how far they are from each other.
  struct Rows {
    std::int64_t count, columns, step;
  };

  /// x[i] becomes activation(x[i] + addend[i]), or activation(x[i]) where addend is null. T: float or double.
  template <class T>
  void activate(T* x, const T* addend, std::int64_t n) const {
    activate(x, addend, Rows{1, n, 0});
  }

  /// The same for rows of both.
  template <class T>
  void activate(T* x, const T* addend, const Rows& rows) const {
    using Formulas = ActivationFormulas;
    if (addend) for_each(rows, [=](std::int64_t i) { x[i] = x[i] + addend[i]; });
    switch (activation) {
      case ActivationKind::none:
        break;
      case ActivationKind::relu:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::relu_of(x[i]); });
      case ActivationKind::leaky_relu:
        return for_each(rows, [=, factor = slope](std::int64_t i) { x[i] = Formulas::leaky_relu_of(x[i], factor); });
      case ActivationKind::gelu:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::gelu_of(x[i]); });
      case ActivationKind::sigmoid:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::sigmoid_of(x[i]); });
      case ActivationKind::tanh:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::tanh_of(x[i]); });
      case ActivationKind::clip:
        return for_each(rows, [=, lowest = T(low), highest = T(high)](std::int64_t i) { x[i] = Formulas::clip_of(x[i], lowest, highest); });
    }
  }

 private:
  /// body(i) for all places i, in one function that has a formula's numbers at hand for all rows.
  template <class Body>
  static void for_each(const Rows& rows, const Body& body) {
    namespace loops = tenon::elementwise;
    const auto whole = rows.columns / loops::small_step * loops::small_step;
    if (whole > 0)
      tenon::wide([=] {
        for (std::int64_t row = 0; row < rows.count; ++row) {
          const auto in_row = [=](std::int64_t i) { body(row * rows.step + i); };
          loops::in_steps<loops::small_step>(loops::in_steps<loops::step>(0, whole, in_row), whole, in_row);
        }
      });
    for (std::int64_t row = 0; whole < rows.columns && row < rows.count; ++row)
      loops::one_by_one(row * rows.step + whole, row * rows.step + rows.columns, body);
  }
};

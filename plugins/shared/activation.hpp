// Activations that operators apply to their results: bit for bit the functions of the operators of
// the same names.
#pragma once
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <tenon/elementwise/for_each.hpp>

#include "activation_formulas.hpp"

enum class ActivationKind : std::int32_t {
  none,
  relu,
  leaky_relu,
  gelu,
  sigmoid,
  tanh,
  clip,
  swish,
  hard_swish
};

/// The formulas, shared by the activation operators and the fused operators.
struct ActivationFormulas : SigmoidFormula, HardSwishFormula, GeluFormula {
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
  template <class T>
  TENON_FN static T swish_of(T x) {
    return x * sigmoid_of(x);
  }
};

/// Base of operators with an activation.
struct WithActivation : tenon::Operator {
  ActivationKind activation = ActivationKind::none;
  double slope = 0.01, low = 0, high = 0;

  static constexpr void describe_activation(auto& op) {
    using Kind = ActivationKind;
    op.param("activation", &WithActivation::activation,
             "activation function: the operator of this name, or none")
        .one_of({{"none", Kind::none},
                 {"relu", Kind::relu},
                 {"leaky_relu", Kind::leaky_relu},
                 {"gelu", Kind::gelu},
                 {"sigmoid", Kind::sigmoid},
                 {"tanh", Kind::tanh},
                 {"clip", Kind::clip},
                 {"swish", Kind::swish},
                 {"hard_swish", Kind::hard_swish}});
    op.param("slope", &WithActivation::slope,
             "slope of leaky_relu for negative x; ignored by other activations");
    op.param("low", &WithActivation::low, "lower bound of clip; ignored by other activations");
    op.param("high", &WithActivation::high, "upper bound of clip; ignored by other activations");
  }

  void configure() {
    if (activation == ActivationKind::clip && !(low <= high))
      throw tenon::Error(tenon::ErrorKind::parameter, "low is ", low, " and high is ", high,
                         "; needs low <= high");
  }

  /// Rows of a matrix and the distance between them, in elements.
  struct Rows {
    std::int64_t count, columns, step;
  };

  /// Sets x[i] to activation(x[i] + addend[i]), or to activation(x[i]) if addend is null. T is
  /// float or double.
  template <class T>
  void activate(T* x, const T* addend, std::int64_t n) const {
    activate(x, addend, Rows{1, n, 0});
  }

  /// Does the same for rows of both.
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
        return for_each(rows, [=, factor = slope](std::int64_t i) {
          x[i] = Formulas::leaky_relu_of(x[i], factor);
        });
      case ActivationKind::gelu:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::gelu_of(x[i]); });
      case ActivationKind::sigmoid:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::sigmoid_of(x[i]); });
      case ActivationKind::tanh:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::tanh_of(x[i]); });
      case ActivationKind::clip:
        return for_each(rows, [=, lowest = T(low), highest = T(high)](std::int64_t i) {
          x[i] = Formulas::clip_of(x[i], lowest, highest);
        });
      case ActivationKind::swish:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::swish_of(x[i]); });
      case ActivationKind::hard_swish:
        return for_each(rows, [=](std::int64_t i) { x[i] = Formulas::hard_swish_of(x[i]); });
    }
  }

 private:
  /// Calls body(i) for all elements, inlined into one function so that the formula's constants stay
  /// in registers for all rows.
  template <class Body>
  static void for_each(const Rows& rows, const Body& body) {
    namespace loops = tenon::elementwise;
    const auto whole = rows.columns / loops::small_step * loops::small_step;
    if (whole > 0)
      tenon::wide([=] {
        for (std::int64_t row = 0; row < rows.count; ++row) {
          const auto in_row = [=](std::int64_t i) { body(row * rows.step + i); };
          loops::in_steps<loops::small_step>(loops::in_steps<loops::step>(0, whole, in_row), whole,
                                             in_row);
        }
      });
    for (std::int64_t row = 0; whole < rows.columns && row < rows.count; ++row)
      loops::one_by_one(row * rows.step + whole, row * rows.step + rows.columns, body);
  }
};

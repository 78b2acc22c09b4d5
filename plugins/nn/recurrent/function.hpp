// Activation functions of the recurrent operators, by ONNX's names.
#pragma once
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "recurrent.hpp"

namespace recurrent {

enum class Kind {
  relu,
  tanh,
  sigmoid,
  affine,
  leaky_relu,
  thresholded_relu,
  scaled_tanh,
  hard_sigmoid,
  elu,
  softsign,
  softplus,
  count
};

/// Default alpha and beta, and how many of them the function has.
struct Named {
  const char* name;
  double alpha, beta;
  int numbers;
};
inline constexpr Named named[] = {{"relu", 0, 0, 0},         {"tanh", 0, 0, 0},
                                  {"sigmoid", 0, 0, 0},      {"affine", 1, 0, 2},
                                  {"leakyrelu", 0.01, 0, 1}, {"thresholdedrelu", 1, 0, 1},
                                  {"scaledtanh", 1, 1, 2},   {"hardsigmoid", 0.2, 0.5, 2},
                                  {"elu", 1, 0, 1},          {"softsign", 0, 0, 0},
                                  {"softplus", 0, 0, 0}};

inline Kind kind_of(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (std::size_t i = 0; i < std::size(named); ++i)
    if (lower == named[i].name) return static_cast<Kind>(i);
  return Kind::count;
}

struct Function {
  Kind kind = Kind::tanh;
  double alpha = 0, beta = 0, clip = 0;

  template <class T>
  TENON_FN T operator()(T x) const {
    if (clip > 0) x = between(x, static_cast<T>(-clip), static_cast<T>(clip));
    const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
    switch (kind) {
      case Kind::relu:
        return x > 0 ? x : T(0);
      case Kind::sigmoid:
        return 1 / (1 + std::exp(-x));
      case Kind::affine:
        return a * x + b;
      case Kind::leaky_relu:
        return x < 0 ? a * x : x;
      case Kind::thresholded_relu:
        return x > a ? x : T(0);
      case Kind::scaled_tanh:
        return a * std::tanh(b * x);
      case Kind::hard_sigmoid:
        return between(a * x + b, T(0), T(1));
      case Kind::elu:
        return x < 0 ? a * std::expm1(x) : x;
      case Kind::softsign:
        return x / (1 + std::abs(x));
      case Kind::softplus:
        return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
      default:
        return std::tanh(x);
    }
  }

  /// The derivative; at a kink, that of either side.
  template <class T>
  TENON_FN T slope(T x) const {
    if (clip > 0 && std::abs(x) > static_cast<T>(clip)) return 0;
    const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
    const auto of_tanh = [](T at) {
      const T y = std::tanh(at);
      return 1 - y * y;
    };
    switch (kind) {
      case Kind::relu:
        return x > 0 ? T(1) : T(0);
      case Kind::sigmoid: {
        const T y = 1 / (1 + std::exp(-x));
        return y * (1 - y);
      }
      case Kind::affine:
        return a;
      case Kind::leaky_relu:
        return x < 0 ? a : T(1);
      case Kind::thresholded_relu:
        return x > a ? T(1) : T(0);
      case Kind::scaled_tanh:
        return a * b * of_tanh(b * x);
      case Kind::hard_sigmoid:
        return a * x + b > 0 && a * x + b < 1 ? a : T(0);
      case Kind::elu:
        return x < 0 ? a * std::exp(x) : T(1);
      case Kind::softsign:
        return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
      case Kind::softplus:
        return 1 / (1 + std::exp(-x));
      default:
        return of_tanh(x);
    }
  }

 private:
  template <class T>
  TENON_FN static T between(T x, T min, T max) {
    return x < min ? min : x > max ? max : x;
  }
};

/// The functions of all directions, `each` per direction. By default, the first one is Sigmoid if
/// there are several.
inline std::vector<Function> functions_of(const Recurrent& op, int each) {
  std::vector<Function> functions;
  std::size_t alphas = 0, betas = 0;
  for (int i = 0; i < each * op.directions(); ++i) {
    Function made;
    made.kind = op.activations.size() > 0   ? kind_of(op.activations[static_cast<std::size_t>(i)])
                : each > 1 && i % each == 0 ? Kind::sigmoid
                                            : Kind::tanh;
    const auto& defaults = named[static_cast<std::size_t>(made.kind)];
    made.alpha = defaults.numbers > 0 && alphas < op.activation_alpha.size()
                     ? op.activation_alpha[alphas++]
                     : defaults.alpha;
    made.beta = defaults.numbers > 1 && betas < op.activation_beta.size()
                    ? op.activation_beta[betas++]
                    : defaults.beta;
    made.clip = op.clip;
    functions.push_back(made);
  }
  return functions;
}

}  // namespace recurrent

inline bool Recurrent::known(std::string_view name) {
  return recurrent::kind_of(name) != recurrent::Kind::count;
}

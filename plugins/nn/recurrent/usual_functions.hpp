// The usual activation functions of recurrent cells, for vectorized loops.
#pragma once
#include "../../shared/activation_formulas.hpp"
#include "function.hpp"

namespace recurrent {

struct Sigmoid {
  template <class W>
  W operator()(W x) const {
    return SigmoidFormula::sigmoid_of(x);
  }
  template <class W>
  W slope(W x) const {
    const W y = (*this)(x);
    return y * (1 - y);
  }
};

struct Tanh {
  template <class W>
  W operator()(W x) const {
    return tenon::elementwise::tanh(x);
  }
  template <class W>
  W slope(W x) const {
    const W y = (*this)(x);
    return 1 - y * y;
  }
};

/// Whether a unit computes Sigmoid and Tanh.
inline bool are_usual(const Function& gate, const Function& candidate) {
  return gate.kind == Kind::sigmoid && candidate.kind == Kind::tanh && gate.clip <= 0 &&
         candidate.clip <= 0;
}

}  // namespace recurrent

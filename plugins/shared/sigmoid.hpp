// 1 / (1 + exp(-x)), in one place for the operator and for what is fused with it.
#pragma once
#include <tenon/elementwise.hpp>

struct SigmoidFormula : tenon::Elementwise {
  template <class T>
  TENON_FN static T sigmoid_of(T x) {
    // e^-|x| does not overflow; what rounding takes from 1 + e^-|x| is given back.
    const T e = exp(-abs(x)), sum = T(1) + e, y = where(x < T(0), e, T(1)) / sum;
    return y - y * (e - (sum - T(1)));
  }
};

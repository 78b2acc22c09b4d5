// 1 / (1 + exp(-x)), shared by the operator and by the operators that fuse it.
#pragma once
#include <tenon/elementwise.hpp>

struct SigmoidFormula : tenon::Elementwise {
  template <class T>
  TENON_FN static T sigmoid_of(T x) {
    // e^-|x| does not overflow; the correction restores what rounding loses in 1 + e^-|x|.
    const T e = exp(-abs(x)), sum = T(1) + e, y = where(x < T(0), e, T(1)) / sum;
    return y - y * (e - (sum - T(1)));
  }
};

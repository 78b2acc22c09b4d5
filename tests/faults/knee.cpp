// Plugins, one for each FAULT_NAME, whose sparse gradient is wrong for large gates only.
#ifdef FAULT_guesses_gradient
// Like plugins built with an SDK older than 0.2: its backward_sparse assumes that the gradient with
// respect to gate is 0 wherever x is, which that SDK guessed.
#include <tenon/version.hpp>
#undef TENON_SDK_VERSION
#define TENON_SDK_VERSION 100
#endif
#include <tenon/elementwise.hpp>

/// max(gate - 4, 0) + x is 0 at x = 0 only for gates up to 4, but it claims this for all gates:
/// wrong beyond the knee, which small numbers do not reach.
struct Knee : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("max(gate - 4, 0) + x");
    op.input("gate", "any shape");
    op.input("x", "any shape");
    op.output("y", "both broadcast");
    op.zero_where("x");
  }
  template <class T>
  TENON_FN T operator()(T gate, T x) const {
    return max(gate - T(4), T(0)) + x;
  }
};

#ifdef FAULT_guesses_gradient
TENON_OPERATOR(guesses_gradient, Knee)
#endif

#ifdef FAULT_wrong_beyond_knee
TENON_OPERATOR(wrong_beyond_knee, Knee)
#endif

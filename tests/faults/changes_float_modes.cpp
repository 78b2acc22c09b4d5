// Operators that leave floating-point modes changed.
#include <fenv.h>

#include <cfenv>

#include "doubling.hpp"

struct RoundsUpward : Doubling {
  void forward(const tenon::Call& call) const {
    std::fesetround(FE_UPWARD);
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(rounds_upward, RoundsUpward)

struct RoundsInBackward : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    std::fesetround(FE_UPWARD);
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];
  }
};
TENON_OPERATOR(rounds_in_backward, RoundsInBackward)

struct RoundsForNegative : Doubling {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    write(call, x.size());
    for (std::int64_t i = 0; i < x.size(); ++i)
      if (x[i] < 0 && !call.training()) std::fesetround(FE_UPWARD);
  }
};
TENON_OPERATOR(rounds_for_negative, RoundsForNegative)

struct RoundsInLoop : Doubling {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    call.parallel_for(x.size(), 64, [&](std::int64_t begin, std::int64_t end) {
      std::fesetround(FE_UPWARD);
      for (auto i = begin; i < end; ++i) y[i] = 2 * x[i];
    });
  }
};
TENON_OPERATOR(rounds_in_loop, RoundsInLoop)

struct LeavesTraps : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INEXACT | FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO);
  }
};
TENON_OPERATOR(leaves_traps, LeavesTraps)

/// Uses MMX registers without releasing them.
struct FillsX87Stack : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
#if defined(__x86_64__)
    asm volatile("pxor %%mm0, %%mm0" : : : "mm0");
#endif
  }
};
TENON_OPERATOR(fills_x87_stack, FillsX87Stack)

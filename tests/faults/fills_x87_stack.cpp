#include "doubling.hpp"

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

#include <fenv.h>

#include "doubling.hpp"

struct LeavesTraps : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INEXACT | FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO);
  }
};
TENON_OPERATOR(leaves_traps, LeavesTraps)

// One fault: kernels of another plugin for which_kernel, one of which fails to report what it
// supports.
#include "which_kernel.hpp"

/// 3: float16.
struct Half : WhichKernel {
  static constexpr int priority = 3;
  bool supports(const tenon::Infer& types) const {
    return refused != 3 && types.input(0).dtype == tenon::f16;
  }
  void forward(const tenon::Call& call) const { write(call, 3); }
};

struct Puzzled : WhichKernel {
  static constexpr int priority = 4;
  bool supports(const tenon::Infer&) const {
    if (refused == 4) throw tenon::Error("it does not know");
    return false;
  }
  void forward(const tenon::Call& call) const { write(call, 97); }
};

TENON_KERNEL_VARIANT(which_kernel, cpu, Half)
TENON_KERNEL_VARIANT_IN(which_kernel, which_kernel, cpu, Puzzled)

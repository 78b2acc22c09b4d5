// No fault: an operator with a bfloat16 kernel for any machine.
#include "which_kernel.hpp"

/// Used only if a session requests bfloat16.
struct InBf16 : WhichKernel {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const {
    return types.precision() == tenon::bf16 && types.input("x").dtype == tenon::f32;
  }
  void forward(const tenon::Call& call) const { write(call, 1); }
  void backward(const tenon::Call& call) const { write_gradient(call, 1); }
};

TENON_OPERATOR(which_precision, WhichKernel)
TENON_KERNEL_VARIANT(which_precision, cpu, InBf16)

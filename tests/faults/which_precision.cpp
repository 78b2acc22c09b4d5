// No fault: an operator with a kernel of its own for bfloat16, on any machine.
#include "which_kernel.hpp"

/// Computes where a session asks for bfloat16, and only there.
struct InBf16 : WhichKernel {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const { return types.precision() == tenon::bf16 && types.input("x").dtype == tenon::f32; }
  void forward(const tenon::Call& call) const { write(call, 1); }
  void backward(const tenon::Call& call) const { write_gradient(call, 1); }
};

TENON_OPERATOR(which_precision, WhichKernel)
TENON_KERNEL_VARIANT(which_precision, cpu, InBf16)

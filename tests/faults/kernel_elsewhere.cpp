// No fault: twice x, with its kernel in another plugin (kernel_alone.cpp).
#include "doubling.hpp"

struct KernelElsewhere : tenon::Operator {
  int times = 2;
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.param("times", &KernelElsewhere::times, "nothing follows from it").at_least(0);
    op.kernels_elsewhere();
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
};
#ifdef KERNEL
struct Kernel : KernelElsewhere {
  void forward(const tenon::Call& call) const {
    Doubling::write(call, call.input<float>(0).size());
  }
};
TENON_KERNEL(kernel_elsewhere, cpu, Kernel)
#else
TENON_OPERATOR(kernel_elsewhere, KernelElsewhere)
#endif

// Plugins, one for each FAULT_NAME, with kernels for operators of other plugins.
#include "doubling.hpp"

/// Twice x, with its kernel in another plugin.
struct KernelElsewhere : tenon::Operator {
  int times = 2;
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.param("times", &KernelElsewhere::times, "nothing follows from it").at_least(0);
    op.kernels_elsewhere();
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
};

struct Kernel : KernelElsewhere {
  void forward(const tenon::Call& call) const {
    Doubling::write(call, call.input<float>(0).size());
  }
};

#ifdef FAULT_kernel_elsewhere
// No fault.
TENON_OPERATOR(kernel_elsewhere, KernelElsewhere)
#endif

#ifdef FAULT_kernel_alone
// No fault: the kernel of kernel_elsewhere.
TENON_KERNEL(kernel_elsewhere, cpu, Kernel)
#endif

#ifdef FAULT_kernels_of_two
// One fault: kernels for kernel_elsewhere's operator and for one that no plugin has.
TENON_KERNEL(kernel_elsewhere, cpu, Kernel)

struct OfMissing : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_KERNEL_IN(bolt, missing, cpu, OfMissing)
#endif

#ifdef FAULT_kernels_of_missing
// No fault: a kernel and a variant for operators that no plugin has.
struct OfMissing : Doubling {
  static constexpr int priority = 1;
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_KERNEL_IN(bolt, missing, cpu, OfMissing)
TENON_KERNEL_VARIANT(missing_too, cpu, OfMissing)
#endif

#ifdef FAULT_kernel_of_relu
// No fault: a kernel variant for an operator that comes with Tenon.
struct ReluOfFloats : Doubling {
  static constexpr int priority = 10;
  bool supports(const tenon::Infer& types) const { return types.input(0).dtype == tenon::f32; }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    const bool add = call.write(0) == tenon::Write::add;
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = (add ? y[i] : 0) + (x[i] <= 0 ? 0 : x[i]);
  }
};
TENON_KERNEL_VARIANT(relu, cpu, ReluOfFloats)
#endif

#ifdef FAULT_kernel_of_swiglu
// No fault: a kernel for a composed operator of another plugin; it returns 42 to show that it runs.
#undef TENON_OPERATOR
#define TENON_OPERATOR(name, Class)
#include "../examples/swiglu.cpp"

struct FortyTwo : SwiGlu {
  void forward(const tenon::Call& call) const {
    for (auto& element : call.output<float>(0)) element = 42;
  }
};
TENON_KERNEL(swiglu, cpu, FortyTwo)
#endif

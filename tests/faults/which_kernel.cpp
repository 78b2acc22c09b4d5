// No fault: kernel variants chosen by dtype, size and priority.
#include "which_kernel.hpp"

/// 1: float32, without a gradient.
struct Single : WhichNumber {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const {
    return refused != 1 && types.input(0).dtype == tenon::f32;
  }
  void forward(const tenon::Call& call) const { write(call, 1); }
};

/// 2: float32 and float64 of at least 100 elements.
struct Large : WhichKernel {
  static constexpr int priority = 2;
  bool supports(const tenon::Infer& types) const {
    const auto [shape, dtype] = types.input("x");
    const bool wide = dtype == tenon::f32 || dtype == tenon::f64;
    return refused != 2 && wide && shape.known() && shape.size() >= 100;
  }
  std::size_t workspace(const tenon::Infer&) const { return 64; }
  void forward(const tenon::Call& call) const {
    call.workspace<char>(64)[63] = 1;
    write(call, 2);
  }
  void backward(const tenon::Call& call) const { write_gradient(call, 2); }
};

/// Has the lowest priority, so it is never chosen.
struct Last : WhichKernel {
  static constexpr int priority = -1;
  void forward(const tenon::Call& call) const { write(call, 99); }
};

/// Supported on no machine.
struct Elsewhere : WhichKernel {
  static constexpr int priority = 100;
  bool supports(const tenon::Infer&) const { return false; }
  void forward(const tenon::Call& call) const { write(call, 98); }
};

TENON_OPERATOR(which_kernel, WhichKernel)
TENON_KERNEL_VARIANT(which_kernel, cpu, Single)
TENON_KERNEL_VARIANT(which_kernel, cpu, Large)
TENON_KERNEL_VARIANT(which_kernel, cpu, Last)
TENON_KERNEL_VARIANT(which_kernel, cpu, Elsewhere)

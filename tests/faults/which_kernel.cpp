// Plugins, one for each FAULT_NAME, with an operator that reports which of its kernels runs.
#include <algorithm>
#include <tenon/operator.hpp>

/// Common code of all kernels.
struct WhichNumber : tenon::Operator {
  std::int32_t refused = -1;

  static constexpr void describe(auto& op) {
    op.doc(
        "the number of the kernel that runs, in every element; the gradient is that number, too");
    op.input("x", "any shape");
    op.output("number", "same shape as x");
    op.param("refused", &WhichNumber::refused, "variant that computes nothing");
    op.backward_reads();
  }

 protected:
  static void write(const tenon::Call& call, int number) {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto y = call.output<T>(0);
      std::fill(y.data(), y.data() + y.size(), T(static_cast<float>(number)));
    });
  }
  static void write_gradient(const tenon::Call& call, int number) {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dx = call.input_grad<T>(0);
      std::fill(dx.data(), dx.data() + dx.size(), T(static_cast<float>(number)));
    });
  }
};

struct WhichKernel : WhichNumber {
  void forward(const tenon::Call& call) const { write(call, 0); }
  void backward(const tenon::Call& call) const { write_gradient(call, 0); }
};

#ifdef FAULT_which_kernel
// No fault: kernel variants chosen by dtype, size and priority.

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
#endif

#ifdef FAULT_which_kernel_more
// One fault: kernels of another plugin for which_kernel, one of which fails to report what it
// supports.

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
#endif

#ifdef FAULT_which_precision
// No fault: an operator with a bfloat16 kernel for any machine.

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
#endif

// No fault: an operator that reports which of its kernels runs.
#pragma once
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

// Operators whose gradients differ from the derivative.
#include <cmath>

#include "doubling.hpp"
#include "sound.hpp"

struct WrongGradient : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads();
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    // for twice x, it should be doubled
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = dy[i];
  }
};
TENON_OPERATOR(wrong_gradient, WrongGradient)

struct WrongBeyondOne : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads("x");
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    const auto x = call.input<float>(0), dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = x[i] > 1 ? 0 : 2 * dy[i];
  }
};
TENON_OPERATOR(wrong_beyond_one, WrongBeyondOne)

struct WrongForNegative : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads("x");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) call.output<float>(0)[i] = x[i] < 0 ? 0 : 2 * x[i];
  }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];  // 0 for negative x
  }
};
TENON_OPERATOR(wrong_for_negative, WrongForNegative)

struct WrongRowGradient : Doubling {
  std::int64_t of_no_use = 0;
  bool sparse_grad = false;

  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.param("of_no_use", &WrongRowGradient::of_no_use, "makes several sets of parameters")
        .required();
    op.param("sparse_grad", &WrongRowGradient::sparse_grad,
             "give a gradient in rows, from dense tensors");
    op.backward_reads();
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (!sparse_grad || !io.backward() || io.input(0) != tenon::Storage::dense ||
        io.output_grad(0) != tenon::Storage::dense)
      return;
    io.set_output(0, tenon::Storage::row_sparse);
    io.sparse_kernel();
  }
  void backward_sparse(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none)
      call.allocate_row_sparse<float>(0, 0);  // every gradient is 2, none is 0
  }
};
TENON_OPERATOR(wrong_row_gradient, WrongRowGradient)

/// The distance to the nearest multiple of 1/4. Where it falls, its gradient has the wrong sign.
struct WrongInHalf : Sound {
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] = std::abs(x.data()[i] - std::round(4 * x.data()[i]) / 4);
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i) call.input_grad<T>(0).data()[i] = dy.data()[i];
    });
  }
};
TENON_OPERATOR(wrong_in_half, WrongInHalf)

/// |x|, whose gradient at 0 is neither that of a side nor between them. Only the example has zeros.
struct WrongAtZero : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.example({{"x", {4}, tenon::f64, {0.5, 0, -0.25, 0}}});
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] = std::abs(x.data()[i]);
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0), dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i) {
        const T at = x.data()[i];
        call.input_grad<T>(0).data()[i] = dy.data()[i] * T(at > 0 ? 1 : at < 0 ? -1 : 3);
      }
    });
  }
};
TENON_OPERATOR(wrong_at_zero, WrongAtZero)

/// Right: a ramp with jumps, which every fifth finite difference of large numbers crosses.
struct JumpsOften : Sound {
  static constexpr double distance = 1e-3;
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const double at = x.data()[i];
        call.output<T>(0).data()[i] = T(at + std::floor(at / distance) * distance / 2);
      }
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i) call.input_grad<T>(0).data()[i] = dy.data()[i];
    });
  }
};
TENON_OPERATOR(jumps_often, JumpsOften)

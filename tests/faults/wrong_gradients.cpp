// Operators whose gradients differ from the derivative.
#include "doubling.hpp"

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

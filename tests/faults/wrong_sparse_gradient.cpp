#include "doubling.hpp"

struct WrongSparseGradient : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads();
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (!io.backward() || io.input(0) != tenon::Storage::row_sparse) return;
    io.set_output(0, tenon::Storage::row_sparse);
    io.sparse_kernel();
  }
  void backward_sparse(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none)
      call.allocate_row_sparse<float>(0, 0);  // every gradient is 2, none is 0
  }
};
TENON_OPERATOR(wrong_sparse_gradient, WrongSparseGradient)

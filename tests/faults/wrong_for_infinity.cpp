#include <cmath>
#include <tenon/elementwise.hpp>

// Has its own kernels; the sparse one does not double infinities.
struct WrongForInfinity : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(2) * x;
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i)
      y[i] = (call.write(0) == tenon::Write::add ? y[i] : 0) + 2 * x[i];
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (io.backward() || io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }
  void forward_sparse(const tenon::Call& call) const {
    const auto x = call.csr<float>(0);
    const auto y = call.allocate_csr<float>(0, x.nnz);
    for (std::int64_t i = 0; i < x.nnz; ++i) {
      y.columns_of[i] = x.columns_of[i];
      y.values[i] = std::isinf(x.values[i]) ? 0 : 2 * x.values[i];
    }
    for (std::int64_t i = 0; i <= x.rows; ++i) y.row_starts[i] = x.row_starts[i];
  }
};
TENON_OPERATOR(wrong_for_infinity, WrongForInfinity)

// Scales rows to length 1. One class with a kernel for dense and one for csr matrices.
#include <cmath>
#include <tenon/operator.hpp>

struct RowUnit : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("each row divided by its Euclidean length; rows of zeros are unchanged");
    op.types({tenon::f32});
    op.input("data", "[rows, columns], dense or csr");
    op.output("output", "same shape and storage as data");
  }
  void infer(tenon::Infer& io) const {
    const auto shape = io.input(0).shape;
    io.require(!shape.has_rank() || shape.rank() == 2, "data must be a matrix");
    io.set_output(0, shape);
    io.set_input(0, io.output(0).shape);
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (io.backward() || io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    const auto columns = call.input_type(0).shape[1];
    for (std::int64_t row = 0; row < x.size(); row += columns)
      scale(x.data() + row, y.data() + row, columns);
  }
  void forward_sparse(const tenon::Call& call) const {
    const auto x = call.csr<float>(0);
    const auto y = call.allocate_csr<float>(0, x.nnz);
    for (std::int64_t i = 0; i < x.nnz; ++i) y.columns_of[i] = x.columns_of[i];
    for (std::int64_t row = 0; row <= x.rows; ++row) y.row_starts[row] = x.row_starts[row];
    for (std::int64_t row = 0; row < x.rows; ++row) {
      const auto begin = x.row_starts[row];
      scale(x.values + begin, y.values + begin, x.row_starts[row + 1] - begin);
    }
  }

 private:
  static void scale(const float* from, float* to, std::int64_t count) {
    float square = 0;
    for (std::int64_t i = 0; i < count; ++i) square += from[i] * from[i];
    const float factor = square > 0 ? 1 / std::sqrt(square) : 0;
    for (std::int64_t i = 0; i < count; ++i) to[i] = factor * from[i];
  }
};

TENON_OPERATOR(row_unit, RowUnit)

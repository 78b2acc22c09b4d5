// Clamps elements, with kernels for dense and for csr tensors; replace it by your own operator.
#include <algorithm>
#include <tenon/operator.hpp>

struct @CLASS@ : tenon::Operator {
  static constexpr tenon::Types numbers = {tenon::f32, tenon::f64};
  double limit = 1;

  static constexpr void describe(auto& op) {
    op.doc("data clamped to [-limit, limit]");
    op.types(numbers);
    op.input("data", "[rows, columns], dense or csr");
    op.output("output", "same shape and storage as data");
    op.param("limit", &@CLASS@::limit, "largest magnitude").greater_than(0);
    op.backward_reads("data");
    op.example({{"data", {4, 6}}}, {{"limit", 0.5}});
  }
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    io.require(!data.has_rank() || data.rank() == 2, "data is ", data, " but must be a matrix");
    io.set_output(0, data);
    io.set_input(0, io.output(0).shape);
  }

  // Declares the storages with a sparse kernel; others are converted to dense. Also called for the
  // gradient.
  void infer_storage(tenon::InferStorage& io) const {
    if (io.backward() || io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<numbers>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      clamp(x.data(), call.output<T>(0).data(), x.size());
    });
  }
  void forward_sparse(const tenon::Call& call) const {
    tenon::visit<numbers>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto y = call.allocate_csr<T>(0, x.nnz);
      std::copy_n(x.columns_of, x.nnz, y.columns_of);
      std::copy_n(x.row_starts, x.rows + 1, y.row_starts);
      clamp(x.values, y.values, x.nnz);
    });
  }
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;  // the gradient is not requested
    tenon::visit<numbers>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0), dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      const T bound = static_cast<T>(limit);
      for (std::int64_t i = 0; i < dx.size(); ++i)
        dx[i] = x[i] > -bound && x[i] < bound ? dy[i] : T(0);
    });
  }

 private:
  template <class T>
  void clamp(const T* from, T* to, std::int64_t count) const {
    const T bound = static_cast<T>(limit);
    for (std::int64_t i = 0; i < count; ++i) to[i] = std::clamp(from[i], -bound, bound);
  }
};
TENON_OPERATOR(@NAME@, @CLASS@)

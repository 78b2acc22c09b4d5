// Gradient clipping by the norm of all gradients together (Pascanu, Mikolov and Bengio, 2013).
#pragma once
#include <cmath>
#include <tenon/operator.hpp>
#include <utility>

#include "block_sum.hpp"

struct GlobalNormScale : tenon::Operator {
  double max_norm = 1;

  static constexpr void describe(auto& op) {
    op.doc(
        "factor that clips the global L2 norm of all gradients to `max_norm`, as "
        "torch.nn.utils.clip_grad_norm_");
    op.input("grads", "gradients of any shape, dtype and storage")
        .variadic()
        .types(tenon::floating);
    op.output("scale",
              "float32 scalar: min(1, max_norm / (norm + 1e-6)), where norm is the L2 norm of the "
              "elements of all gradients together");
    op.param("max_norm", &GlobalNormScale::max_norm,
             "maximum global norm; larger norms are scaled down to it")
        .required()
        .greater_than(0);
    op.example({{"grads0", {2, 3}}, {"grads1", {4}}}, {{"max_norm", 1.0}});
  }

  void infer(tenon::Infer& io) const { io.set_output(0, tenon::Shape::scalar(), tenon::f32); }

  void infer_storage(tenon::InferStorage& io) const {
    for (int i = 0; i < io.inputs(); ++i)
      if (io.input(i) != tenon::Storage::dense) return io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const {
    double squares = 0;
    for (int i = 0; i < call.inputs(); ++i)
      tenon::visit<tenon::floating>(call.input_type(i).dtype, [&]<class T>() {
        const auto [data, size] = stored<T>(call, i);
        squares += block_sum(call, size, [data = data](std::int64_t at) {
          const auto value = static_cast<double>(data[at]);
          return value * value;
        });
      });
    call.output<float>(0)[0] = scale_of(max_norm, squares);
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  /// Returns the factor for gradients whose squares sum to `squares`.
  TENON_FN static float scale_of(double max_norm, double squares) {
    const double scale = max_norm / (std::sqrt(squares) + 1e-6);
    return static_cast<float>(scale > 1 ? 1 : scale);  // propagates nan
  }

 protected:
  /// Only stored elements are summed: all others are 0.
  template <class T>
  static std::pair<const T*, std::int64_t> stored(const tenon::Call& call, int i) {
    if (call.storage(i) == tenon::Storage::csr) return {call.csr<T>(i).values, call.csr<T>(i).nnz};
    if (call.storage(i) == tenon::Storage::dense)
      return {call.input<T>(i).data(), call.input<T>(i).size()};
    const auto rows = call.row_sparse<T>(i);
    return {rows.values, rows.rows * rows.row_size};
  }
};

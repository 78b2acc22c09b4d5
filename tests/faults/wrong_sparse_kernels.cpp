// Operators whose sparse kernels differ from their dense ones, or change the process.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <tenon/elementwise.hpp>

#include "doubling.hpp"
#include "sound.hpp"

/// Twice x with a csr kernel that multiplies stored values as the broken operator says.
struct CsrDoubling : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }

  /// `factor_of` receives the number of stored elements and the element.
  template <class FactorOf>
  static void write_csr(const tenon::Call& call, FactorOf factor_of) {
    const auto x = call.csr<float>(0);
    const auto y = call.allocate_csr<float>(0, x.nnz);
    std::copy_n(x.columns_of, x.nnz, y.columns_of);
    std::copy_n(x.row_starts, x.rows + 1, y.row_starts);
    for (std::int64_t i = 0; i < x.nnz; ++i)
      y.values[i] = factor_of(x.nnz, x.values[i]) * x.values[i];
  }
};

struct WrongSparse : CsrDoubling {
  void forward_sparse(const tenon::Call& call) const {
    write_csr(call, [](std::int64_t, float) { return 1.f; });  // should be doubled
  }
};
TENON_OPERATOR(wrong_sparse, WrongSparse)

struct WrongForOne : CsrDoubling {
  void forward_sparse(const tenon::Call& call) const {
    write_csr(call, [](std::int64_t stored, float) { return stored == 1 ? 1.f : 2.f; });
  }
};
TENON_OPERATOR(wrong_for_one, WrongForOne)

struct WrongWhenLarge : CsrDoubling {
  void forward_sparse(const tenon::Call& call) const {
    write_csr(call, [](std::int64_t, float x) { return x > 1000 ? 1.f : 2.f; });
  }
};
TENON_OPERATOR(wrong_when_large, WrongWhenLarge)

struct WrongWhenSmall : CsrDoubling {
  void forward_sparse(const tenon::Call& call) const {
    write_csr(call, [](std::int64_t, float x) { return x > 0 && x < 0.01f ? 1.f : 2.f; });
  }
};
TENON_OPERATOR(wrong_when_small, WrongWhenSmall)

struct RoundsWhenSparse : CsrDoubling {
  void forward_sparse(const tenon::Call& call) const {
    std::fesetround(FE_UPWARD);
    write_csr(call, [](std::int64_t, float) { return 2.f; });
  }
};
TENON_OPERATOR(rounds_when_sparse, RoundsWhenSparse)

/// Right: x, doubled where the rounded number of 2^-19 in sin(x) is odd. Near the jumps, the sparse
/// kernel's higher precision decides.
struct JumpsWhenSparse : Sound {
  template <class Real, class T>
  static T value(T x) {
    const auto steps = std::floor(std::sin(Real(x)) * Real(1 << 19) + Real(0.5));
    return steps - 2 * std::floor(steps / 2) > Real(0.5) ? 2 * x : x;
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      std::transform(x.data(), x.data() + x.size(), call.output<T>(0).data(), value<T, T>);
    });
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }
  void forward_sparse(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto y = call.allocate_csr<T>(0, x.nnz);
      std::copy_n(x.columns_of, x.nnz, y.columns_of);
      std::copy_n(x.row_starts, x.rows + 1, y.row_starts);
      for (std::int64_t i = 0; i < x.nnz; ++i) y.values[i] = value<double, T>(x.values[i]);
    });
  }
};
TENON_OPERATOR(jumps_when_sparse, JumpsWhenSparse)

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

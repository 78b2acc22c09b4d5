// Squares of csr matrices whose gradients make wrong assumptions about the positions of stored
// elements, or access memory out of bounds.
#include <algorithm>

#include "sound.hpp"

struct CsrSquare : Sound {
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i) call.output<T>(0)[i] = x[i] * x[i];
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.input_grad<T>(0)[i] = 2 * x[i] * call.output_grad<T>(0)[i];
    });
  }
  void infer_storage(tenon::InferStorage& io) const {
    using tenon::Storage;
    if (io.input(0) != Storage::csr || (io.backward() && io.output_grad(0) != Storage::csr)) return;
    io.set_output(0, Storage::csr);
    io.sparse_kernel();
  }
  void forward_sparse(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto y = call.allocate_csr<T>(0, x.nnz);
      std::copy_n(x.columns_of, x.nnz, y.columns_of);
      std::copy_n(x.row_starts, x.rows + 1, y.row_starts);
      for (std::int64_t i = 0; i < x.nnz; ++i) y.values[i] = x.values[i] * x.values[i];
    });
  }
};

/// Right if both have the same positions.
struct AssumesSamePattern : CsrSquare {
  void backward_sparse(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto dy = call.csr_output_grad<T>(0);
      const auto count = std::min(x.nnz, dy.nnz);  // reads stay within bounds
      const auto dx = call.allocate_csr<T>(0, dy.nnz);
      std::copy_n(dy.columns_of, dy.nnz, dx.columns_of);
      std::copy_n(dy.row_starts, dy.rows + 1, dx.row_starts);
      for (std::int64_t i = 0; i < dy.nnz; ++i)
        dx.values[i] = i < count ? 2 * x.values[i] * dy.values[i] : 0;
    });
  }
};
TENON_OPERATOR(assumes_same_pattern, AssumesSamePattern)

/// Right if the gradient stores at least all elements of x.
struct AssumesWiderPattern : CsrSquare {
  void backward_sparse(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto dy = call.csr_output_grad<T>(0);
      const auto dx = call.allocate_csr<T>(0, x.nnz);
      std::copy_n(x.columns_of, x.nnz, dx.columns_of);
      std::copy_n(x.row_starts, x.rows + 1, dx.row_starts);
      for (std::int64_t row = 0; row < x.rows; ++row)
        for (auto i = x.row_starts[row], k = dy.row_starts[row]; i < x.row_starts[row + 1]; ++i) {
          while (k + 1 < dy.row_starts[row + 1] && dy.columns_of[k] < x.columns_of[i]) ++k;
          dx.values[i] = k < dy.nnz ? 2 * x.values[i] * dy.values[k] : 0;
        }
    });
  }
};
TENON_OPERATOR(assumes_wider_pattern, AssumesWiderPattern)

/// No fault.
struct IntersectsPatterns : CsrSquare {
  void backward_sparse(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto dy = call.csr_output_grad<T>(0);
      const auto dx = call.allocate_csr<T>(0, x.nnz);
      std::copy_n(x.columns_of, x.nnz, dx.columns_of);
      std::copy_n(x.row_starts, x.rows + 1, dx.row_starts);
      for (std::int64_t row = 0; row < x.rows; ++row)
        for (auto i = x.row_starts[row], k = dy.row_starts[row]; i < x.row_starts[row + 1]; ++i) {
          while (k < dy.row_starts[row + 1] && dy.columns_of[k] < x.columns_of[i]) ++k;
          const bool both = k < dy.row_starts[row + 1] && dy.columns_of[k] == x.columns_of[i];
          dx.values[i] = both ? 2 * x.values[i] * dy.values[k] : 0;
        }
    });
  }
};
TENON_OPERATOR(intersects_patterns, IntersectsPatterns)

/// Writes one value more than it allocated.
struct WritesBeyondSparse : CsrSquare {
  void forward_sparse(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto y = call.allocate_csr<T>(0, x.nnz);
      std::copy_n(x.columns_of, x.nnz, y.columns_of);
      std::copy_n(x.row_starts, x.rows + 1, y.row_starts);
      for (std::int64_t i = 0; i < x.nnz; ++i) y.values[i] = x.values[i] * x.values[i];
      y.values[x.nnz] = 0;
    });
  }
};
TENON_OPERATOR(writes_beyond_sparse, WritesBeyondSparse)

/// Reads as many values of x as the gradient stores.
struct ReadsBeyondSparse : CsrSquare {
  void backward_sparse(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto dy = call.csr_output_grad<T>(0);
      const auto dx = call.allocate_csr<T>(0, dy.nnz);
      std::copy_n(dy.columns_of, dy.nnz, dx.columns_of);
      std::copy_n(dy.row_starts, dy.rows + 1, dx.row_starts);
      for (std::int64_t i = 0; i < dy.nnz; ++i) dx.values[i] = 2 * x.values[i] * dy.values[i];
    });
  }
};
TENON_OPERATOR(reads_beyond_sparse, ReadsBeyondSparse)

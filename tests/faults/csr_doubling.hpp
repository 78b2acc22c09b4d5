// Twice x with a csr kernel that multiplies stored values as the broken operator says.
#pragma once
#include <algorithm>

#include "doubling.hpp"

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

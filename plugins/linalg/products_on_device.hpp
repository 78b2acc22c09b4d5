// Sums of matrix products over the terms of a batch on a CUDA device, with as few library calls as
// the strides of the terms allow.
#pragma once
#include "../shared/device_gemm.hpp"
#include "batch.hpp"

namespace batch {

/// Matrices of equal size, contiguous one after the other.
template <class T>
struct DeviceMatrices {
  const T* data;
  std::int64_t row_size, size;
  bool transposed;

  device_gemm::Matrices<const T> from(std::int64_t first, std::int64_t step) const {
    return {data + first * size, row_size, step * size, transposed};
  }
  DeviceMatrices transpose() const { return {data, row_size, size, !transposed}; }
};

/// Matrices that have the shape [rows, columns] after transposition by `transposed`.
template <class T>
DeviceMatrices<T> device_matrices(const T* data, std::int64_t rows, std::int64_t columns,
                                  bool transposed) {
  return {data, transposed ? rows : columns, rows * columns, transposed};
}

template <class T>
struct DeviceResults {
  T* data;
  std::int64_t count, rows, columns;
  bool add, bf16 = false;  ///< as in device_gemm::Products
};

/// Number of terms from `first` on, at distances of `apart`, whose indices increase by constant
/// steps.
inline std::int64_t run_of(const std::vector<Term>& terms, std::size_t first, std::size_t apart,
                           std::int64_t max_count) {
  const auto step = [&](std::int64_t i) {
    const auto &now = terms[first + static_cast<std::size_t>(i) * apart],
               &next = terms[first + static_cast<std::size_t>(i + 1) * apart];
    return Term{next.result - now.result, next.left - now.left, next.right - now.right};
  };
  std::int64_t run = 1;
  for (; run < max_count; ++run) {
    const auto now = step(0), next = step(run - 1);
    if (next.result != now.result || next.left != now.left || next.right != now.right) break;
  }
  return run;
}

/// Each result = (with `add`: +=) the sum of left * right over its terms, 0 if it
/// has none. The terms are sorted by result, all results have the same number of them, and they are
/// added in order.
template <class T>
void sum_products_on_device(const tenon::Call& call, DeviceResults<T> results, std::int64_t depth,
                            const std::vector<Term>& terms, DeviceMatrices<T> left,
                            DeviceMatrices<T> right) {
  const auto size = results.rows * results.columns;
  if (results.count == 0) return;
  if (terms.empty()) {
    if (!results.add)
      tenon::gpu::clear(call, results.data,
                        static_cast<std::size_t>(results.count * size) * sizeof(T));
    return;
  }
  const auto each = terms.size() / static_cast<std::size_t>(results.count);
  for (std::size_t layer = 0; layer < each; ++layer) {
    for (std::int64_t done = 0, run; done < results.count; done += run) {
      const auto first = static_cast<std::size_t>(done) * each + layer;
      run = run_of(terms, first, each, results.count - done);
      const auto &now = terms[first], &next = terms[run > 1 ? first + each : first];
      device_gemm::multiply<T>(
          call,
          {left.from(now.left, next.left - now.left), right.from(now.right, next.right - now.right),
           results.data + now.result * size, size, run, results.rows, results.columns, depth,
           results.add || layer > 0, results.bf16});
    }
  }
}

}  // namespace batch

// One side of a matrix product.
#pragma once
#include <cstdint>

namespace gemm {

/// A contiguous row-major matrix; `transposed` reads it as its transpose.
template <class T>
struct Operand {
  const T* data;
  std::int64_t row_size;  ///< elements per stored row
  bool transposed;

  const T* row(std::int64_t i) const { return data + (transposed ? i : i * row_size); }
  const T* column(std::int64_t j) const { return data + (transposed ? j * row_size : j); }
};

}  // namespace gemm

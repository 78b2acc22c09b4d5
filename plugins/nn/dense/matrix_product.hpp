// Matrix products on a CUDA device, as the kernels here see them: in f32 and f64, row by row in memory, added to or not, with a bias or
// not. By cuBLASLt, or on simulated GPUs by plain loops.
#pragma once
#include <cstddef>
#include <cstdint>

/// `transposed` reads a matrix as its transpose.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_size;  ///< elements in one row as stored
  bool transposed;
};

/// result[rows, columns] = left[rows, depth] * right[depth, columns], plus what is there where `add`, plus bias[columns] in each row where
/// it is not null. The result is none of the others. `bf16`: elements of f32 are rounded to bfloat16 before they are multiplied.
template <class T>
struct MatrixProduct {
  Matrix<T> left, right;
  T* result;
  std::int64_t rows, columns, depth;
  bool add;
  const T* bias = nullptr;
  bool bf16 = false;
};

#if defined(TENON_SIMULATED_CUDA)
#include "matrix_product_loops.hpp"
#else
#include "matrix_product_cublas.hpp"
#endif

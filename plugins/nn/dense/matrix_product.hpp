// Row-major matrix products on a CUDA device in f32 and f64, with optional accumulation and bias.
// Uses cuBLASLt, or plain loops on simulated GPUs.
#pragma once
#include <cstddef>
#include <cstdint>

/// `transposed` reads the matrix as its transpose.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_size;  ///< elements between rows as stored
  bool transposed;
};

/// result[rows, columns] = (with `add`: +=) left[rows, depth] * right[depth, columns] +
/// bias[columns] in each row, if bias is not null. The result must not alias the operands. `bf16`:
/// f32 elements are rounded to bfloat16 before they are multiplied.
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

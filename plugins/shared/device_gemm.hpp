// Batched matrix products on a CUDA device: cuBLAS, or plain loops on simulated GPUs.
#pragma once
#include <cstdint>
#include <tenon/gpu/launch.hpp>
#include <type_traits>

#if !defined(TENON_SIMULATED_CUDA)
#include <cublas_v2.h>

#include <tenon/gpu/library_handle.hpp>
#include <tenon/gpu/library_workspace.hpp>
#endif

namespace device_gemm {

/// `count` row-major matrices, `step` elements apart; `transposed` reads each as its transpose.
template <class T>
struct Matrices {
  T* data;
  std::int64_t row_size, step;
  bool transposed;
};

/// Computes results[i][rows, columns] = lefts[i][rows, depth] * rights[i][depth, columns], or adds
/// to the results if `add`. With `bf16`, f32 elements are rounded to bfloat16 before they are
/// multiplied.
template <class T>
struct Products {
  Matrices<const T> left, right;
  T* result;
  std::int64_t result_step, count, rows, columns, depth;
  bool add, bf16 = false;
};

#if defined(TENON_SIMULATED_CUDA)

template <class T>
struct PlainProducts : Products<T> {
  void operator()(std::int64_t i) const {
    const auto each = this->rows * this->columns, number = i / each, row = i % each / this->columns,
               column = i % this->columns;
    const auto at = [number, rounds = this->bf16](const Matrices<const T>& operands, std::int64_t r,
                                                  std::int64_t c) {
      const T element =
          operands.data[number * operands.step + (operands.transposed ? c * operands.row_size + r
                                                                      : r * operands.row_size + c)];
      return rounds ? static_cast<T>(tenon::bfloat16(static_cast<float>(element))) : element;
    };
    T& to = this->result[number * this->result_step + i % each];
    T sum = 0;
    for (std::int64_t p = 0; p < this->depth; ++p)
      sum += at(this->left, row, p) * at(this->right, p, column);
    to = this->add ? to + sum : sum;
  }
};

inline constexpr std::size_t workspace_bytes = 64;

template <class T>
void multiply(const tenon::Call& call, const Products<T>& operands) {
  tenon::gpu::for_each(call, operands.count * operands.rows * operands.columns,
                       PlainProducts<T>{operands});
}

#else

/// Scratch that each call must have: cuBLAS's own workspace is shared by streams and prevents
/// capture.
inline constexpr std::size_t cublas_bytes = 32 << 20,
                             workspace_bytes = tenon::gpu::library_workspace_bytes(cublas_bytes);

[[gnu::cold]] inline void require(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw tenon::Error("cuBLAS failed: ", cublasGetStatusString(status));
}

/// cuBLAS is column-major: it sees every matrix transposed, so result' = right' * left'.
template <class T>
void multiply(const tenon::Call& call, const Products<T>& operands) {
  if (operands.count == 0 || operands.rows == 0 || operands.columns == 0) return;
  if (operands.depth == 0) {  // an empty sum
    for (std::int64_t i = 0; i < operands.count && !operands.add; ++i)
      tenon::gpu::clear(call, operands.result + i * operands.result_step,
                        static_cast<std::size_t>(operands.rows * operands.columns) * sizeof(T));
    return;
  }
  const auto cublas = tenon::gpu::library_handle<cublasHandle_t>(
      [](cublasHandle_t* made) { require(cublasCreate(made)); });
  require(cublasSetStream(cublas, tenon::gpu::stream_of(call)));
  require(
      cublasSetWorkspace(cublas, tenon::gpu::library_workspace(call, cublas_bytes), cublas_bytes));
  constexpr bool wide = std::is_same_v<T, double>;
  const auto compute = wide            ? CUBLAS_COMPUTE_64F
                       : operands.bf16 ? CUBLAS_COMPUTE_32F_FAST_16BF
                                       : CUBLAS_COMPUTE_32F;
  const T one = 1, beta = operands.add ? 1 : 0;
  const auto order = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  require(cublasGemmStridedBatchedEx_64(
      cublas, order(operands.right.transposed), order(operands.left.transposed), operands.columns,
      operands.rows, operands.depth, &one, operands.right.data, wide ? CUDA_R_64F : CUDA_R_32F,
      operands.right.row_size, operands.right.step, operands.left.data,
      wide ? CUDA_R_64F : CUDA_R_32F, operands.left.row_size, operands.left.step, &beta,
      operands.result, wide ? CUDA_R_64F : CUDA_R_32F, operands.columns, operands.result_step,
      operands.count, compute, CUBLAS_GEMM_DEFAULT));
}

#endif

}  // namespace device_gemm

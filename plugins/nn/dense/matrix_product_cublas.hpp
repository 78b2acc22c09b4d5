// Matrix products by cuBLASLt. Part of matrix_product.hpp.
#pragma once
#include <algorithm>

#include "cublas_lt.hpp"

/// Bytes of scratch; the algorithms that are chosen need no more.
inline constexpr std::size_t product_workspace = std::size_t{32} << 20;

namespace cublas_lt {

/// What each row of a product starts with where the product itself cannot add the bias.
template <class T>
struct StartWithBias {
  MatrixProduct<T> product;
  TENON_DEVICE void operator()(std::int64_t i) const {
    const T bias = product.bias ? product.bias[i % product.columns] : T(0);
    product.result[i] = product.add ? product.result[i] + bias : bias;
  }
};

/// The power of two, up to 16, that a pointer is a multiple of: no load takes more bytes at once. What the host makes is aligned to that,
/// so that a product has the same algorithm wherever its tensors lie.
inline std::uint32_t alignment(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (~address + 1), 16));
}

/// A product described for cuBLASLt, which sees matrices column by column: theirs are our transposes. result^T = right^T * left^T.
template <class T>
class Described {
 public:
  explicit Described(const MatrixProduct<T>& product)
      : product_(product),
        operation_(operation(std::is_same_v<T, double> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, type)),
        right_(stored(product.right, product.depth, product.columns)),
        left_(stored(product.left, product.rows, product.depth)),
        result_(layout(type, product.columns, product.rows, product.columns)) {
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, order(product.right));
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, order(product.left));
    if (!product.bias) return;
    set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  }

  /// False where cuBLASLt has no algorithm for it.
  bool run(const tenon::Call& call, void* workspace) const {
    const auto wanted = preference();
    set(wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, product_workspace);
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(product_.right.data));
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(product_.left.data));
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(product_.result));
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(product_.result));
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    const auto status = cublasLtMatmulAlgoGetHeuristic(handle(), operation_.get(), right_.get(), left_.get(), result_.get(), result_.get(),
                                                       wanted.get(), 1, &best, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) return false;
    require(status);
    const T one = 1, beta = product_.add ? 1 : 0;
    require(cublasLtMatmul(handle(), operation_.get(), &one, product_.right.data, right_.get(), product_.left.data, left_.get(), &beta,
                           product_.result, result_.get(), product_.result, result_.get(), &best.algo, workspace, product_workspace,
                           tenon::gpu::stream_of(call)));
    return true;
  }

 private:
  static constexpr cudaDataType_t type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

  static cublasOperation_t order(const Matrix<T>& matrix) { return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }
  static Layout stored(const Matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
    return matrix.transposed ? layout(type, rows, columns, matrix.row_size) : layout(type, columns, rows, matrix.row_size);
  }

  MatrixProduct<T> product_;
  Operation operation_;
  Layout right_, left_, result_;
};

}  // namespace cublas_lt

/// `workspace`: product_workspace bytes, aligned to 256. The same bits every time: cuBLASLt adds in one order for one algorithm, and
/// chooses that by sizes and alignment.
template <class T>
void multiply(const tenon::Call& call, MatrixProduct<T> product, void* workspace) {
  using namespace cublas_lt;
  if (product.rows == 0 || product.columns == 0) return;
  // Kernels of the library may read a bias 16 bytes at a time, and it has no word for what a bias is aligned to.
  const bool adds_bias = !product.bias || (std::is_same_v<T, float> && reinterpret_cast<std::uintptr_t>(product.bias) % 16 == 0);
  if (product.depth > 0 && adds_bias && Described<T>(product).run(call, workspace)) return;
  // A sum of nothing, which cuBLASLt refuses, or a bias that it cannot add for this type or from there.
  tenon::gpu::for_each(call, product.rows * product.columns, StartWithBias<T>{product});
  if (product.depth == 0) return;
  product.add = true;
  product.bias = nullptr;
  if (!Described<T>(product).run(call, workspace)) refuse(CUBLAS_STATUS_NOT_SUPPORTED);
}

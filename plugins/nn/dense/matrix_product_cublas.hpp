// Matrix products with cuBLASLt. Included by matrix_product.hpp.
#pragma once
#include <algorithm>

#include "cublas_lt.hpp"

/// Bytes of workspace, the limit for the chosen algorithms.
inline constexpr std::size_t product_workspace = std::size_t{32} << 20;

namespace cublas_lt {

/// Initializes the rows of a product with the bias, if the product itself cannot add it.
template <class T>
struct StartWithBias {
  MatrixProduct<T> product;
  TENON_DEVICE void operator()(std::int64_t i) const {
    const T bias = product.bias ? product.bias[i % product.columns] : T(0);
    product.result[i] = product.add ? product.result[i] + bias : bias;
  }
};

/// The alignment of a pointer as a power of two, up to 16, the widest load. The host's allocations
/// have that alignment, so that a product uses the same algorithm wherever its tensors are.
inline std::uint32_t alignment(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (~address + 1), 16));
}

/// The key for which cuBLASLt chooses an algorithm. It uses column-major matrices, the transposes
/// of ours: result^T = right^T * left^T.
struct Kind {
  struct Side {
    std::int64_t row_size;
    bool transposed;
    std::uint32_t alignment;
    friend bool operator==(const Side&, const Side&) = default;
  };
  int device = -1;
  cudaDataType_t type{};
  std::int64_t rows = 0, columns = 0, depth = 0;
  Side left{}, right{};
  std::uint32_t result_alignment = 0;
  bool bias = false, bf16 = false;
  friend bool operator==(const Kind&, const Kind&) = default;

  template <class T>
  static Kind of(const MatrixProduct<T>& product) {
    const auto side = [](const Matrix<T>& matrix) {
      return Side{matrix.row_size, matrix.transposed, cublas_lt::alignment(matrix.data)};
    };
    Kind kind{0, std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F, product.rows, product.columns,
              product.depth};
    tenon::gpu::require(cudaGetDevice(&kind.device));
    kind.left = side(product.left);
    kind.right = side(product.right);
    kind.result_alignment = cublas_lt::alignment(product.result);
    kind.bias = product.bias != nullptr;
    kind.bf16 = product.bf16;
    return kind;
  }
};

/// One product of a node. Descriptors and algorithm are cached while the kind stays the same;
/// finding an algorithm takes longer than a small product.
class Product {
 public:
  /// Returns false if cuBLASLt has no algorithm.
  template <class T>
  bool run(const tenon::Call& call, const MatrixProduct<T>& product, void* workspace) {
    if (const auto kind = Kind::of(product); !(kind_ == kind)) {
      kind_ = {};  // the cache is invalid until all descriptors exist
      describe(kind, product.bias);
      kind_ = kind;
    }
    if (!found_) return false;
    if (product.bias) set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
    const T one = 1, beta = product.add ? 1 : 0;
    require(cublasLtMatmul(handle(), operation_.get(), &one, product.right.data, right_.get(),
                           product.left.data, left_.get(), &beta, product.result, result_.get(),
                           product.result, result_.get(), &algorithm_, workspace, product_workspace,
                           tenon::gpu::stream_of(call)));
    return true;
  }

 private:
  void describe(const Kind& kind, const void* bias) {
    const auto sums = kind.bf16 ? CUBLAS_COMPUTE_32F_FAST_16BF : CUBLAS_COMPUTE_32F;
    operation_ = operation(kind.type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : sums, kind.type);
    right_ = stored(kind, kind.right, kind.depth, kind.columns);
    left_ = stored(kind, kind.left, kind.rows, kind.depth);
    result_ = layout(kind.type, kind.columns, kind.rows, kind.columns);
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, order(kind.right));
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, order(kind.left));
    if (kind.bias) {
      set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const auto preferences = preference();
    set(preferences, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, product_workspace);
    set(preferences, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.right.alignment);
    set(preferences, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.left.alignment);
    set(preferences, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kind.result_alignment);
    set(preferences, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kind.result_alignment);
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    const auto status = cublasLtMatmulAlgoGetHeuristic(handle(), operation_.get(), right_.get(),
                                                       left_.get(), result_.get(), result_.get(),
                                                       preferences.get(), 1, &best, &found);
    found_ = false;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0))
      return;
    require(status);
    algorithm_ = best.algo;
    found_ = true;
  }

  static cublasOperation_t order(const Kind::Side& side) {
    return side.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  static Layout stored(const Kind& kind, const Kind::Side& side, std::int64_t rows,
                       std::int64_t columns) {
    return side.transposed ? layout(kind.type, rows, columns, side.row_size)
                           : layout(kind.type, columns, rows, side.row_size);
  }

  Kind kind_;
  Operation operation_;
  Layout right_, left_, result_;
  cublasLtMatmulAlgo_t algorithm_{};
  bool found_ = false;
};

}  // namespace cublas_lt

/// The cached state of one product of a node.
struct CachedProduct {
  cublas_lt::Product whole, added;  ///< added: for results that are initialized first
};

/// `workspace`: product_workspace bytes, aligned to 256. Deterministic: an algorithm of cuBLASLt
/// has one summation order, and the algorithm is chosen by sizes and alignment.
template <class T>
void multiply(const tenon::Call& call, MatrixProduct<T> product, void* workspace,
              CachedProduct& cached) {
  using namespace cublas_lt;
  if (product.rows == 0 || product.columns == 0) return;
  // Kernels of the library may load the bias 16 bytes at a time, and cuBLASLt has no attribute for
  // its alignment.
  const bool adds_bias =
      !product.bias ||
      (std::is_same_v<T, float> && reinterpret_cast<std::uintptr_t>(product.bias) % 16 == 0);
  if (product.depth > 0 && adds_bias && cached.whole.run(call, product, workspace)) return;
  // Covers empty sums, which cuBLASLt rejects, and a bias of a type or alignment that it cannot
  // add.
  tenon::gpu::for_each(call, product.rows * product.columns, StartWithBias<T>{product});
  if (product.depth == 0) return;
  product.add = true;
  product.bias = nullptr;
  if (!cached.added.run(call, product, workspace)) refuse(CUBLAS_STATUS_NOT_SUPPORTED);
}

// csr * dense on a CUDA device: with cuSPARSE if it is installed; with plain loops on simulated
// GPUs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>
#include <tenon/gpu/scratch.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#include "product_layout.hpp"

#if defined(TENON_HAVE_CUSPARSE)
#include <cusparse.h>

#include <tenon/gpu/library_handle.hpp>

#include "../shared/optional_library.hpp"
#endif

namespace device_spmm {

/// out = matrix * right, or out += matrix * right with `add`; both have `columns` columns.
template <class T>
struct Product {
  tenon::Csr<const T> matrix;
  sparse::Dense<const T> right;
  sparse::Dense<T> out;
  std::int64_t columns;
  bool add;
};

/// Memory layout of the dense sides: both row-major or both column-major with a leading dimension
/// each; right may be stored as its transpose.
struct Layout {
  bool by_rows, transposed;
  std::int64_t right, out;

  friend bool operator==(const Layout&, const Layout&) = default;

  template <class T>
  static Layout of(const Product<T>& product) {
    const auto& right = product.right;
    const auto& out = product.out;
    if (out.column == 1 && out.row >= product.columns) {
      const bool same = right.column == 1 && right.row >= product.columns;
      return {true, !same, same ? right.row : right.column, out.row};
    }
    const bool same = right.row == 1 && right.column >= product.matrix.columns;
    return {false, !same, same ? right.column : right.row, out.column};
  }
};

#if defined(TENON_SIMULATED_CUDA)

template <class T>
struct PlainProduct : Product<T> {
  Layout layout;
  std::byte* scratch;

  void operator()(std::int64_t i) const {
    const auto row = i / this->columns, column = i % this->columns;
    T sum = 0;
    for (auto e = this->matrix.row_starts[row]; e < this->matrix.row_starts[row + 1]; ++e)
      sum += this->matrix.values[e] *
             this->right.data[offset(layout.by_rows != layout.transposed, layout.right,
                                     this->matrix.columns_of[e], column)];
    T& to = this->out.data[offset(layout.by_rows, layout.out, row, column)];
    to = this->add ? to + sum : sum;
    *scratch = std::byte{0xdb};
  }

 private:
  static std::int64_t offset(bool by_rows, std::int64_t step, std::int64_t row,
                             std::int64_t column) {
    return by_rows ? row * step + column : column * step + row;
  }
};

class Library {
 public:
  static bool here() { return true; }

  template <class T>
  std::size_t scratch_bytes(const tenon::Call&, const Product<T>&) {
    return 5;
  }

  template <class T>
  void run(const tenon::Call& call, const Product<T>& product, std::byte* scratch) {
    tenon::gpu::for_each(call, product.matrix.rows * product.columns,
                         PlainProduct<T>{product, Layout::of(product), scratch});
  }
};

#elif defined(TENON_HAVE_CUSPARSE)

#define TENON_TEXT_OF(number) #number
#define TENON_CUSPARSE_FILE(version) "libcusparse.so." TENON_TEXT_OF(version)
#define TENON_CUSPARSE_FUNCTION(name) \
  decltype(&::name) name = library.find<decltype(&::name)>(#name)

struct Functions {
  OptionalLibrary library{{TENON_CUSPARSE_FILE(CUSPARSE_VER_MAJOR)},
                          "products with csr matrices fall back to a slower kernel; install "
                          "cuSPARSE, or add its folder to LD_LIBRARY_PATH"};
  TENON_CUSPARSE_FUNCTION(cusparseGetErrorString);
  TENON_CUSPARSE_FUNCTION(cusparseCreate);
  TENON_CUSPARSE_FUNCTION(cusparseSetStream);
  TENON_CUSPARSE_FUNCTION(cusparseCreateCsr);
  TENON_CUSPARSE_FUNCTION(cusparseCsrSetPointers);
  TENON_CUSPARSE_FUNCTION(cusparseDestroySpMat);
  TENON_CUSPARSE_FUNCTION(cusparseCreateDnMat);
  TENON_CUSPARSE_FUNCTION(cusparseDnMatSetValues);
  TENON_CUSPARSE_FUNCTION(cusparseDestroyDnMat);
  TENON_CUSPARSE_FUNCTION(cusparseSpMM_bufferSize);
  TENON_CUSPARSE_FUNCTION(cusparseSpMM);
};

#undef TENON_CUSPARSE_FUNCTION
#undef TENON_CUSPARSE_FILE
#undef TENON_TEXT_OF

inline const Functions& functions() {
  static const Functions found;
  return found;
}

[[gnu::cold]] inline void require(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw tenon::Error("cuSPARSE failed: ", functions().cusparseGetErrorString(status));
}

/// cuSPARSE handles for the products of one node. Descriptors of matrices are cached while sizes
/// stay the same.
class Library {
 public:
  static bool here() { return static_cast<bool>(functions().library); }

  /// Returns the size of scratch memory. Does not read the arrays.
  template <class T>
  std::size_t scratch_bytes(const tenon::Call& call, const Product<T>& product) {
    const Sizes sizes{sizeof(T),          product.matrix.rows, product.matrix.columns,
                      product.matrix.nnz, product.columns,     Layout::of(product)};
    int device = 0;
    tenon::gpu::require(cudaGetDevice(&device));
    if (device == device_ && sizes == sizes_) return bytes_;
    device_ = -1;  // the cache is invalid until all descriptors exist
    describe(product, Layout::of(product));
    const T one = 1, beta = product.add ? 1 : 0;
    require(functions().cusparseSpMM_bufferSize(handle(call), plain, operation_, &one,
                                                matrix_.get(), right_.get(), &beta, out_.get(),
                                                type<T>, algorithm, &bytes_));
    sizes_ = sizes;
    device_ = device;
    return bytes_;
  }

  /// Needs a call of scratch_bytes() for the same sizes first. The order of summation is
  /// cuSPARSE's, and the same in every run.
  template <class T>
  void run(const tenon::Call& call, const Product<T>& product, std::byte* scratch) {
    require(functions().cusparseCsrSetPointers(matrix_.get(), unread(product.matrix.row_starts),
                                               unread(product.matrix.columns_of),
                                               unread(product.matrix.values)));
    require(functions().cusparseDnMatSetValues(right_.get(), unread(product.right.data)));
    require(functions().cusparseDnMatSetValues(out_.get(), product.out.data));
    const T one = 1, beta = product.add ? 1 : 0;
    require(functions().cusparseSpMM(handle(call), plain, operation_, &one, matrix_.get(),
                                     right_.get(), &beta, out_.get(), type<T>, algorithm, scratch));
  }

 private:
  using Sizes =
      std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, Layout>;
  static constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr auto algorithm =
      CUSPARSE_SPMM_CSR_ALG3;  // the only csr algorithm with deterministic results
  template <class T>
  static constexpr auto type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

  struct Destroy {
    void operator()(std::remove_pointer_t<cusparseSpMatDescr_t>* matrix) const {
      functions().cusparseDestroySpMat(matrix);
    }
    void operator()(std::remove_pointer_t<cusparseDnMatDescr_t>* matrix) const {
      functions().cusparseDestroyDnMat(matrix);
    }
  };
  template <class Description>
  using Owned = std::unique_ptr<std::remove_pointer_t<Description>, Destroy>;

  static cusparseHandle_t handle(const tenon::Call& call) {
    const auto found = tenon::gpu::library_handle<cusparseHandle_t>(
        [](cusparseHandle_t* made) { require(functions().cusparseCreate(made)); });
    require(functions().cusparseSetStream(found, tenon::gpu::stream_of(call)));
    return found;
  }

  /// cuSPARSE's descriptors need pointers to non-const arrays, even if it never writes to them.
  template <class T>
  static void* unread(const T* data) {
    return const_cast<T*>(data);
  }

  template <class T>
  void describe(const Product<T>& product, const Layout& layout) {
    cusparseSpMatDescr_t matrix = nullptr;
    require(functions().cusparseCreateCsr(&matrix, product.matrix.rows, product.matrix.columns,
                                          product.matrix.nnz, unread(product.matrix.row_starts),
                                          unread(product.matrix.columns_of),
                                          unread(product.matrix.values), CUSPARSE_INDEX_64I,
                                          CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, type<T>));
    matrix_.reset(matrix);
    auto rows = product.matrix.columns, columns = product.columns;
    if (layout.transposed) std::swap(rows, columns);
    operation_ = layout.transposed ? CUSPARSE_OPERATION_TRANSPOSE : plain;
    const auto order = layout.by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    right_ = dense(rows, columns, layout.right, unread(product.right.data), type<T>, order);
    out_ =
        dense(product.matrix.rows, product.columns, layout.out, product.out.data, type<T>, order);
  }

  static Owned<cusparseDnMatDescr_t> dense(std::int64_t rows, std::int64_t columns,
                                           std::int64_t step, void* data, cudaDataType type,
                                           cusparseOrder_t order) {
    cusparseDnMatDescr_t made = nullptr;
    require(functions().cusparseCreateDnMat(&made, rows, columns, step, data, type, order));
    return Owned<cusparseDnMatDescr_t>(made);
  }

  Sizes sizes_;
  cusparseOperation_t operation_ = plain;
  int device_ = -1;
  std::size_t bytes_ = 0;
  Owned<cusparseSpMatDescr_t> matrix_;
  Owned<cusparseDnMatDescr_t> right_, out_;
};

#else

/// Stands in if cuSPARSE is unavailable; callers then use their own loops.
struct Library {
  static bool here() { return false; }

  template <class T>
  std::size_t scratch_bytes(const tenon::Call&, const Product<T>&) {
    return 0;
  }
  template <class T>
  void run(const tenon::Call&, const Product<T>&, std::byte*) {}
};

#endif

/// Reports column indices out of range; cuSPARSE does not check them.
struct CheckColumn {
  const std::int64_t* columns_of;
  std::int64_t columns;
  std::int64_t* checked;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t e) const {
    checked[e] = fault.fits(columns_of[e], columns) ? columns_of[e] : 0;
  }
};

/// Whether the library supports this product: nothing is empty, and the arrays are aligned as it
/// requires.
template <class T>
bool fits_library(const Product<T>& product) {
  const auto& matrix = product.matrix;
  const auto aligned = [](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  };
  return std::min({matrix.rows, matrix.columns, matrix.nnz, product.columns}) > 0 &&
         aligned(matrix.values) && aligned(matrix.row_starts) && Library::here();
}

/// Runs a supported product. A column index out of range becomes a fault of the node.
template <class T>
void multiply(const tenon::Call& call, Library& library, Product<T> product) {
  constexpr std::size_t each = sizeof(std::int64_t), aligned = 256;  // cuSPARSE requires 16
  const auto bytes = (library.scratch_bytes(call, product) + aligned - 1) / aligned * aligned;
  const tenon::gpu::Scratch<std::byte> scratch(
      call, static_cast<std::int64_t>(bytes + static_cast<std::size_t>(product.matrix.nnz) * each));
  auto* const columns = reinterpret_cast<std::int64_t*>(scratch.data() + bytes);
  tenon::gpu::for_each(call, product.matrix.nnz,
                       CheckColumn{product.matrix.columns_of, product.matrix.columns, columns,
                                   tenon::gpu::Fault(call)});
  product.matrix.columns_of = columns;
  library.run(call, product, scratch.data());
}

}  // namespace device_spmm

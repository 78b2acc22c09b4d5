// Matrix products with plain loops, for simulated GPUs. Included by matrix_product.hpp.
#pragma once
#include <tenon/gpu/launch.hpp>

inline constexpr std::size_t product_workspace = 0;

template <class T>
struct ProductElement {
  MatrixProduct<T> product;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto row = i / product.columns, column = i % product.columns;
    T sum = product.bias ? product.bias[column] : T(0);
    for (std::int64_t k = 0; k < product.depth; ++k)
      sum += rounded(at(product.left, row, k)) * rounded(at(product.right, k, column));
    product.result[i] = product.add ? product.result[i] + sum : sum;
  }

 private:
  TENON_DEVICE T rounded(T element) const {
    return product.bf16 ? static_cast<T>(tenon::bfloat16(static_cast<float>(element))) : element;
  }
  TENON_DEVICE static T at(const Matrix<T>& matrix, std::int64_t row, std::int64_t column) {
    return matrix
        .data[matrix.transposed ? column * matrix.row_size + row : row * matrix.row_size + column];
  }
};

struct CachedProduct {};

template <class T>
void multiply(const tenon::Call& call, const MatrixProduct<T>& product, void*, CachedProduct&) {
  tenon::gpu::for_each(call, product.rows * product.columns, ProductElement<T>{product});
}

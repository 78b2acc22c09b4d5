// Products of complex matrices and their gradients: for a * b with output gradient dy, the gradient
// of a is dy * conj(b)^T and that of b is conj(a)^T * dy.
#pragma once
#include <algorithm>
#include <vector>

#include "batch.hpp"

namespace complex_products {

/// Matrices of equal size, contiguous one after the other. `conjugated` is set for gradients.
template <class T>
struct Matrices {
  const T* data;
  std::int64_t rows, columns;  ///< after transposition, if any
  bool transposed, conjugated = false;

  T at(std::int64_t matrix, std::int64_t row, std::int64_t column) const {
    const T value =
        data[matrix * rows * columns + (transposed ? column * rows + row : row * columns + column)];
    return conjugated ? conj(value) : value;
  }
  Matrices adjoint() const { return {data, columns, rows, !transposed, true}; }
  Matrices transpose() const { return {data, columns, rows, !transposed, conjugated}; }
};

/// Each of `count` matrices at `to` = (with Write::add: +=) the sum of left * right over its terms.
template <class T>
void sum_products(const tenon::Call& call, T* to, std::int64_t count,
                  const std::vector<batch::Term>& terms, const Matrices<T>& left,
                  const Matrices<T>& right, tenon::Write write) {
  const auto rows = left.rows, columns = right.columns, depth = left.columns;
  const auto precedes = [](const batch::Term& term, std::int64_t result) {
    return term.result < result;
  };
  call.parallel_for(
      count * rows, 1 + (1 << 14) / (depth * columns + 1),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) {
          const auto result = i / rows, row = i % rows;
          T* const sums = to + i * columns;
          if (write != tenon::Write::add) std::fill_n(sums, columns, T(0));
          for (auto term = std::lower_bound(terms.begin(), terms.end(), result, precedes);
               term != terms.end() && term->result == result; ++term)
            for (std::int64_t k = 0; k < depth; ++k) {
              const T factor = left.at(term->left, row, k);
              for (std::int64_t j = 0; j < columns; ++j)
                sums[j] += factor * right.at(term->right, k, j);
            }
        }
      });
}

}  // namespace complex_products

// csr * dense on a CUDA device, with the library if it supports the product. Deterministic.
#pragma once
#include <tenon/gpu/fault.hpp>

#include "device_spmm.hpp"

namespace sparse {

/// out = (with `add`: +=) matrix * right for each product of a batch, with one thread per element.
template <class T>
struct RowTimesDense {
  device_spmm::Product<T> product;
  const std::int64_t*
      row_map;  ///< rows of out for the nonempty rows of the matrix; null: the same rows
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto& matrix = product.matrix;
    const auto line = i / product.columns, column = i - line * product.columns,
               batch = line / matrix.rows, row = line - batch * matrix.rows;
    const auto begin = matrix.row_starts[row], end = matrix.row_starts[row + 1];
    if (row_map && begin == end) return;
    const T* const from = product.right.data + batch * matrix.columns * product.columns +
                          column * product.right.column;
    T sum = 0;
    for (auto e = begin; e < end; ++e)
      if (fault.fits(matrix.columns_of[e], matrix.columns))
        sum += matrix.values[e] * from[matrix.columns_of[e] * product.right.row];
    T& to =
        product.out
            .data[batch * matrix.rows * product.columns +
                  (row_map ? row_map[row] : row) * product.out.row + column * product.out.column];
    to = product.add ? to + sum : sum;
  }
};

/// `count` products of one matrix, with contiguous dense matrices on both sides.
template <class T>
void rows_times_dense(const tenon::Call& call, device_spmm::Library& library,
                      const device_spmm::Product<T>& product, std::int64_t count,
                      const std::int64_t* row_map) {
  if (count == 1 && !row_map && device_spmm::fits_library(product))
    return device_spmm::multiply(call, library, product);
  tenon::gpu::for_each(call, count * product.matrix.rows * product.columns,
                       RowTimesDense<T>{product, row_map, tenon::gpu::Fault(call)});
}

}  // namespace sparse

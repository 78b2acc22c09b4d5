// csr * dense on a CUDA device, with the library if it supports the product. Deterministic.
#pragma once
#include <tenon/gpu/fault.hpp>

#include "device_spmm.hpp"

namespace sparse {

/// out = (with `add`: +=) matrix * right for each product of a batch, with one thread per element.
template <class T>
struct RowTimesDense {
  device_spmm::Product<T> of;
  const std::int64_t*
      row_map;  ///< rows of out for the nonempty rows of the matrix; null: the same rows
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto& matrix = of.matrix;
    const auto line = i / of.columns, column = i - line * of.columns, product = line / matrix.rows,
               row = line - product * matrix.rows;
    const auto begin = matrix.row_starts[row], end = matrix.row_starts[row + 1];
    if (row_map && begin == end) return;
    const T* const from =
        of.right.data + product * matrix.columns * of.columns + column * of.right.column;
    T sum = 0;
    for (auto e = begin; e < end; ++e)
      if (fault.fits(matrix.columns_of[e], matrix.columns))
        sum += matrix.values[e] * from[matrix.columns_of[e] * of.right.row];
    T& to = of.out.data[product * matrix.rows * of.columns +
                        (row_map ? row_map[row] : row) * of.out.row + column * of.out.column];
    to = of.add ? to + sum : sum;
  }
};

/// `count` products of one matrix, with contiguous dense matrices on both sides.
template <class T>
void rows_times_dense(const tenon::Call& call, device_spmm::Library& library,
                      const device_spmm::Product<T>& of, std::int64_t count,
                      const std::int64_t* row_map) {
  if (count == 1 && !row_map && device_spmm::fits_library(of))
    return device_spmm::multiply(call, library, of);
  tenon::gpu::for_each(call, count * of.matrix.rows * of.columns,
                       RowTimesDense<T>{of, row_map, tenon::gpu::Fault(call)});
}

}  // namespace sparse

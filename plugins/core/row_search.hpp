// Binary search among the stored rows of a row_sparse tensor on a CUDA device.
#pragma once
#include <cstdint>
#include <tenon/gpu/search.hpp>
#include <tenon/operator.hpp>

/// Returns the index of the first stored row whose id is at least `id`, or the number of stored
/// rows if there is none.
template <class T>
TENON_FN std::int64_t first_not_below(const tenon::RowSparse<const T>& tensor, std::int64_t id) {
  return tenon::gpu::first_not_below(tensor.row_ids, tensor.rows, id);
}

template <class T>
TENON_FN bool stores(const tenon::RowSparse<const T>& tensor, std::int64_t id) {
  const auto index = first_not_below(tensor, id);
  return index < tensor.rows && tensor.row_ids[index] == id;
}

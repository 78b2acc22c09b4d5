// A uniform view of sparse tensors, as rows of units at ascending columns, and the union of two of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../call.hpp"
#include "../../version.hpp"
#include "../chunks.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Memory for n T, uninitialized.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t n) : data_(new T[static_cast<std::size_t>(n > 0 ? n : 1)]) {}
  ~Scratch() { delete[] data_; }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }
  T& operator[](std::int64_t i) const { return data_[i]; }

 private:
  T* data_;
};

/// A csr tensor, with units of one element; or a row_sparse one, as a single row whose columns are
/// the tensor's rows and whose units are rows.
struct Stored {
  std::int64_t rows, columns, count, unit_size;  ///< unit_size in bytes
  const std::int64_t *columns_of, *row_starts;   ///< row_starts is null for the single row
  const unsigned char* values;

  explicit Stored(const tenon_tensor& tensor)
      : rows(1),
        columns(tensor.dense.shape[0]),
        count(tensor.stored),
        unit_size(static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype)))),
        columns_of(static_cast<const std::int64_t*>(tensor.indices)),
        row_starts(nullptr),
        values(static_cast<const unsigned char*>(tensor.dense.data) + tensor.dense.byte_offset) {
    if (tensor.storage == TENON_CSR) {
      rows = tensor.dense.shape[0];
      columns = tensor.dense.shape[1];
      row_starts = static_cast<const std::int64_t*>(tensor.row_starts);
    } else {
      for (int axis = 1; axis < tensor.dense.ndim; ++axis) unit_size *= tensor.dense.shape[axis];
    }
  }
  std::int64_t begin(std::int64_t row) const { return row_starts ? row_starts[row] : 0; }
  std::int64_t end(std::int64_t row) const { return row_starts ? row_starts[row + 1] : count; }
};

/// Calls visit(column, index in left, index in right) for each column that either stores in a row;
/// an index is -1 if that side does not store it.
template <class Visit>
void join_row(const Stored& left, const Stored& right, std::int64_t row, Visit visit) {
  auto l = left.begin(row), r = right.begin(row);
  const auto l_end = left.end(row), r_end = right.end(row);
  while (l < l_end || r < r_end) {
    const auto l_column = l < l_end ? left.columns_of[l] : left.columns,
               r_column = r < r_end ? right.columns_of[r] : right.columns;
    const auto column = l_column < r_column ? l_column : r_column;
    visit(column, l_column == column ? l++ : std::int64_t{-1},
          r_column == column ? r++ : std::int64_t{-1});
  }
}

/// The union of the positions of two tensors: row starts, columns, and the indices in either
/// tensor.
struct Joined {
  std::int64_t rows, count;
  Scratch<std::int64_t> row_starts, columns_of, left, right;

  Joined(const Call& call, const Stored& l, const Stored& r)
      : rows(l.rows),
        count(0),
        row_starts(rows + 1),
        columns_of(l.count + r.count),
        left(l.count + r.count),
        right(l.count + r.count) {
    const std::int64_t grain = 1 + (1 << 14) * rows / (l.count + r.count + rows + 1);
    for_each_chunk(call, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        std::int64_t found = 0;
        join_row(l, r, row, [&](std::int64_t, std::int64_t, std::int64_t) { ++found; });
        row_starts[row + 1] = found;
      }
    });
    row_starts[0] = 0;
    for (std::int64_t row = 0; row < rows; ++row) row_starts[row + 1] += row_starts[row];
    count = row_starts[rows];
    for_each_chunk(call, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        auto to = row_starts[row];
        join_row(l, r, row, [&](std::int64_t column, std::int64_t in_left, std::int64_t in_right) {
          columns_of[to] = column;
          left[to] = in_left;
          right[to++] = in_right;
        });
      }
    });
  }
};

/// Gathers the units at `positions` contiguously; zeros if an index is -1.
[[gnu::cold]] inline void gather(const Call& call, const Stored& from,
                                 const std::int64_t* positions, std::int64_t count,
                                 unsigned char* to) {
  const auto size = static_cast<std::size_t>(from.unit_size);
  if (size == 0) return;
  for_each_chunk(call, count, 1 + (1 << 16) / from.unit_size,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto i = begin; i < end; ++i) {
                     unsigned char* const unit = to + i * from.unit_size;
                     if (positions[i] < 0) {
                       std::memset(unit, 0, size);
                     } else if (size == 4) {  // a constant size, the common case
                       std::memcpy(unit, from.values + positions[i] * 4, 4);
                     } else {
                       std::memcpy(unit, from.values + positions[i] * from.unit_size, size);
                     }
                   }
                 });
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

#include "tensor/sparse/csr_rows.hpp"

#include <cstring>
#include <tenon/visit.hpp>

#include "tensor/tracked_tensor.hpp"

namespace tenon {

Tensor csr_rows(const Tensor& csr, std::span<const std::int64_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const Tensor all_values = csr.stored_values(), all_columns = csr.columns(),
               all_starts = csr.row_starts();
  const auto element = static_cast<std::int64_t>(size_of(csr.dtype()));
  return visit<Types{i32, i64}>(csr.index_dtype(), [&]<class Index>() {
    const auto* const from = all_starts.data<Index>();
    Tensor starts = Tensor::empty(csr.index_dtype(), {count + 1});
    auto* const start = starts.data<Index>();
    start[0] = 0;
    std::int64_t stored =
        0;  // may overflow int32 if rows repeat: csr() then rejects the wrapped starts
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = rows[static_cast<std::size_t>(i)];
      stored += from[row + 1] - from[row];
      start[i + 1] = static_cast<Index>(stored);
    }
    Tensor values = Tensor::empty(csr.dtype(), {stored}),
           columns = Tensor::empty(csr.index_dtype(), {stored});
    auto* value = static_cast<std::byte*>(values.data());
    auto* column = columns.data<Index>();
    for (const std::int64_t row : rows) {
      const std::int64_t size = from[row + 1] - from[row];
      if (size == 0) continue;
      std::memcpy(value, static_cast<const std::byte*>(all_values.data()) + from[row] * element,
                  static_cast<std::size_t>(size * element));
      std::memcpy(column, all_columns.data<Index>() + from[row],
                  static_cast<std::size_t>(size) * sizeof(Index));
      value += size * element;
      column += size;
    }
    return Tensor::csr(values, TrackedTensor::frozen(columns), TrackedTensor::frozen(starts),
                       {count, csr.shape()[1]});
  });
}

}  // namespace tenon

// Selection of rows of sparse tensors, shared by slice, take_rows and retain.
#pragma once
#include <algorithm>
#include <tenon/gpu/search.hpp>
#include <tenon/operator.hpp>
#include <vector>

/// Calls of_csr(Csr<const T>) or of_rows(RowSparse<const T>) with input 0, in backward with the
/// gradient of output 0, depending on its storage format.
template <class OfCsr, class OfRows>
void visit_stored(const tenon::Call& call, const OfCsr& of_csr, const OfRows& of_rows) {
  const bool back = call.backward(),
             csr = (back ? call.output_grad_storage(0) : call.storage(0)) == tenon::Storage::csr;
  tenon::visit<tenon::every_type>(call.input_type(0).dtype, [&]<class T>() {
    if (csr)
      of_csr(back ? call.csr_output_grad<T>(0) : call.csr<T>(0));
    else
      of_rows(back ? call.row_sparse_output_grad<T>(0) : call.row_sparse<T>(0));
  });
}

/// A row of the result and the index of its values among the stored rows of the source; an id of
/// -1: no row.
struct PickedRow {
  std::int64_t id, index;
};

/// Row `row` of a tensor as row `id` of the result, if it is stored.
template <class T>
TENON_FN PickedRow stored_as(const tenon::RowSparse<const T>& tensor, std::int64_t row,
                             std::int64_t id) {
  const auto index = tenon::gpu::index_of(tensor.row_ids, tensor.rows, row);
  return {index >= 0 ? id : -1, index};
}

/// Builds results from rows on the CPU. PicksOnDevice in rows_on_device.hpp has the same interface
/// for CUDA.
struct PicksOnCpu {
  /// Allocates a csr result of `rows` rows. Row i is row source(i) of `from`, or empty if that is
  /// -1.
  template <class T, class Source>
  static void csr(const tenon::Call& call, const tenon::Csr<const T>& from, std::int64_t rows,
                  Source source) {
    std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1);
    std::int64_t stored = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      starts[static_cast<std::size_t>(i)] = stored;
      if (const auto row = source(i); row >= 0)
        stored += from.row_starts[row + 1] - from.row_starts[row];
    }
    starts.back() = stored;
    const auto out = call.allocate_csr<T>(0, stored);
    std::copy(starts.begin(), starts.end(), out.row_starts);
    const auto grain = 1 + (1 << 15) * rows / (stored + rows + 1);
    call.parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto to = out.row_starts[i], count = out.row_starts[i + 1] - to;
        if (count == 0) continue;
        const auto first = from.row_starts[source(i)];
        std::copy_n(from.values + first, count, out.values + to);
        std::copy_n(from.columns_of + first, count, out.columns_of + to);
      }
    });
  }

  /// Allocates a row_sparse result of the rows that select(item) returns for `items` items. Their
  /// ids increase, or decrease if `reversed`.
  template <class T, class Select>
  static void rows(const tenon::Call& call, const tenon::RowSparse<const T>& from,
                   std::int64_t items, Select select, bool reversed = false) {
    std::vector<PickedRow> picked;
    for (std::int64_t item = 0; item < items; ++item)
      if (const auto row = select(item); row.id >= 0) picked.push_back(row);
    if (reversed) std::reverse(picked.begin(), picked.end());
    const auto out = call.allocate_row_sparse<T>(0, static_cast<std::int64_t>(picked.size()));
    const auto grain = 1 + (1 << 15) / (from.row_size + 1);
    call.parallel_for(static_cast<std::int64_t>(picked.size()), grain,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i) {
                          const auto [id, index] = picked[static_cast<std::size_t>(i)];
                          out.row_ids[i] = id;
                          std::copy_n(from.values + index * from.row_size, from.row_size,
                                      out.values + i * from.row_size);
                        }
                      });
  }
};

// Rows of sparse tensors put together anew: what slices, takes and retains of rows have in common.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>
#include <vector>

/// A csr result (in backward: the gradient) of `rows` rows, of which row i is row source(i) of `from`, or stores nothing where that is -1.
template <class T, class Source>
void pick_rows(const tenon::Call& call, const tenon::Csr<const T>& from, std::int64_t rows, Source source) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1, 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = source(i);
    const auto count = row < 0 ? 0 : from.row_starts[row + 1] - from.row_starts[row];
    starts[static_cast<std::size_t>(i) + 1] = starts[static_cast<std::size_t>(i)] + count;
  }
  const auto stored = starts.back();
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

/// A row of the result and the place of its values among the rows that the other tensor stores.
struct PickedRow {
  std::int64_t id, place;
};

/// A row_sparse result of these rows, whose ids ascend.
template <class T>
void put_rows(const tenon::Call& call, const tenon::RowSparse<const T>& from, const std::vector<PickedRow>& picked) {
  const auto out = call.allocate_row_sparse<T>(0, static_cast<std::int64_t>(picked.size()));
  const auto grain = 1 + (1 << 15) / (from.row_size + 1);
  call.parallel_for(static_cast<std::int64_t>(picked.size()), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto [id, place] = picked[static_cast<std::size_t>(i)];
      out.row_ids[i] = id;
      std::copy_n(from.values + place * from.row_size, from.row_size, out.values + i * from.row_size);
    }
  });
}

/// Where a row stands among those stored; -1: it is not.
template <class T>
std::int64_t place_of(const tenon::RowSparse<const T>& tensor, std::int64_t row) {
  const auto* const end = tensor.row_ids + tensor.rows;
  const auto* const at = std::lower_bound(tensor.row_ids, end, row);
  return at != end && *at == row ? at - tensor.row_ids : -1;
}

// Reads a list of row indices, and rejects those out of range.
#pragma once
#include <tenon/operator.hpp>
#include <vector>

/// Input 1 as indices from 0 to rows - 1.
inline std::vector<std::int64_t> read_row_indices(const tenon::Call& call, std::int64_t rows) {
  std::vector<std::int64_t> numbers;
  tenon::visit<tenon::integral>(call.input_type(1).dtype, [&]<class T>() {
    const auto view = call.input<T>(1);
    numbers.assign(view.begin(), view.end());
  });
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] < 0 || numbers[i] >= rows)
      throw tenon::Error("numbers[", static_cast<std::int64_t>(i), "] is ", numbers[i],
                         ", but data has ", rows, " rows: needs 0 to ", rows - 1);
  return numbers;
}

/// Checks the shapes of data and of the list, as far as they are known. Error: data is a scalar, or
/// the list is not one-dimensional.
inline void check_rows_and_indices(tenon::Infer& io) {
  const auto data = io.input(0).shape;
  io.require(!data.has_rank() || data.rank() > 0,
             "data is a scalar, but needs at least one dimension");
  io.set_input(1, tenon::Shape::of_rank(1));
}

/// Number of elements of a row.
inline std::int64_t row_size(const tenon::Shape& shape) {
  std::int64_t size = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) size *= shape[axis];
  return size;
}

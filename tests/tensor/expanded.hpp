// The dense equivalent of a sparse tensor, by plain loops over its arrays.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>
#include <tenon/visit.hpp>
#include <vector>

inline std::vector<double> numbers(const tenon::Tensor& dense) {
  std::vector<double> result;
  tenon::visit(dense.dtype(), [&]<class T>() {
    for (const T value : dense.values<T>()) result.push_back(static_cast<double>(value));
  });
  return result;
}

inline std::vector<double> expanded(const tenon::Tensor& tensor) {
  if (tensor.storage() == tenon::Storage::dense) return numbers(tensor);
  const std::vector<double> values = numbers(tensor.stored_values());
  std::vector<double> all(static_cast<std::size_t>(tensor.size()), 0.0);
  if (tensor.storage() == tenon::Storage::csr) {
    const auto starts = numbers(tensor.row_starts()), columns = numbers(tensor.columns());
    for (std::size_t row = 0; row + 1 < starts.size(); ++row)
      for (auto i = static_cast<std::size_t>(starts[row]);
           i < static_cast<std::size_t>(starts[row + 1]); ++i)
        all.at(row * static_cast<std::size_t>(tensor.shape()[1]) +
               static_cast<std::size_t>(columns.at(i))) = values.at(i);
  } else {
    const auto rows = numbers(tensor.row_ids());
    const std::size_t size = rows.empty() ? 0 : values.size() / rows.size();
    for (std::size_t i = 0; i < values.size(); ++i)
      all.at(static_cast<std::size_t>(rows[i / size]) * size + i % size) = values[i];
  }
  return all;
}

template <class T>
tenon::Tensor list(const std::vector<T>& values) {
  return tenon::Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

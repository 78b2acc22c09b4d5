#include <algorithm>
#include <numeric>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "tensor/sparse/storage_kernels.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

using Index = std::int64_t;

// Sums the values with equal coordinates.
template <class T>
class Sum {
 public:
  using Stored = casts::Stored<T>;

  explicit Sum(Stored first) : sum_(static_cast<Accumulator>(first)) {}
  void add(Stored value) {
    if constexpr (std::is_same_v<T, bool>)
      sum_ |= value;
    else
      sum_ = static_cast<Accumulator>(sum_ + static_cast<Accumulator>(value));
  }
  Stored get() const { return static_cast<Stored>(sum_); }

 private:
  static constexpr auto accumulator() {
    if constexpr (is_half<T>)
      return float{};
    else if constexpr (std::is_integral_v<Stored>)
      // wraps on overflow, which is undefined for signed integers
      return std::make_unsigned_t<Stored>{};
    else
      return T{};
  }
  using Accumulator = decltype(accumulator());
  Accumulator sum_;
};

Tensor checked_indices(const Tensor& indices, std::int64_t count, std::int64_t limit,
                       const char* what) {
  if (indices.shape() != Shape{count})
    throw Failure(FailureKind::usage, join("the values have shape ", Shape{count}, ", but the ",
                                           what, " indices ", indices.shape()));
  if (indices.dtype() != i32 && indices.dtype() != i64)
    throw Failure(FailureKind::usage,
                  join(what, " indices must be int32 or int64, not ", indices.dtype()));
  Tensor wide = Tensor::empty(i64, indices.shape());
  auto* to = wide.data<Index>();
  const Tensor from = indices.to("cpu").make_contiguous();
  visit<Types{i32, i64}>(indices.dtype(), [&]<class T>() {
    for (const T index : from.values<T>()) *to++ = index;
  });
  const auto values = wide.values<Index>();
  const auto wrong =
      std::find_if(values.begin(), values.end(), [&](Index i) { return i < 0 || i >= limit; });
  if (wrong != values.end())
    throw Failure(FailureKind::usage, join(what, " index ", wrong - values.begin(), " is ", *wrong,
                                           ", but there are ", limit, " ", what, "s"));
  return wide;
}

// Returns indices sorted by row, then column; equal coordinates keep their input order.
std::vector<Index> sorted(std::span<const Index> rows, std::span<const Index> columns,
                          std::vector<Index> starts) {
  std::vector<Index> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    order[static_cast<std::size_t>(starts[static_cast<std::size_t>(rows[i])]++)] =
        static_cast<Index>(i);
  const auto column = [&](Index i) { return columns[static_cast<std::size_t>(i)]; };
  Index begin = 0;  // each start has advanced to the row's end
  for (const Index end : starts) {
    const auto first = order.begin() + begin, last = order.begin() + std::max(begin, end);
    const auto less = [&](Index left, Index right) { return column(left) < column(right); };
    if (!std::is_sorted(first, last, less)) std::stable_sort(first, last, less);
    begin = std::max(begin, end);
  }
  return order;
}

std::vector<Index> starts_of(std::span<const Index> rows, Index count) {
  std::vector<Index> starts(static_cast<std::size_t>(count) + 1);
  for (const Index row : rows) ++starts[static_cast<std::size_t>(row) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

}  // namespace

Tensor csr_from_coordinates(const Tensor& values, const Tensor& rows, const Tensor& columns,
                            const Shape& shape) {
  if (shape.rank() != 2 || !shape.known())
    throw Failure(FailureKind::usage, join("csr needs two known dimensions, not ", shape));
  if (values.shape().rank() != 1)
    throw Failure(FailureKind::usage, join("values must be a list, not ", values.shape()));
  if (shape[0] == INT64_MAX)
    throw Failure(FailureKind::usage,
                  join("a matrix ", shape, " has more rows than can be counted"));
  if (values.device() != "cpu")
    return csr_from_coordinates(values.to("cpu"), rows, columns, shape).to(values.device());
  const Tensor from = values.make_contiguous();
  if (low_bit.has(from.dtype()))
    throw Failure(FailureKind::usage,
                  join("values are ", from.dtype(), ", a dtype of dense tensors only"));
  const Tensor row_indices = checked_indices(rows, from.size(), shape[0], "row");
  const Tensor column_indices = checked_indices(columns, from.size(), shape[1], "column");
  const auto row_of = row_indices.values<Index>(), column_of = column_indices.values<Index>();
  const auto order = sorted(row_of, column_of, starts_of(row_of, shape[0]));

  Tensor row_starts = Tensor::zeros(i64, {shape[0] + 1}),
         merged_columns = Tensor::empty(i64, {from.size()});
  Tensor merged = Tensor::empty(from.dtype(), {from.size()});
  auto* const start = row_starts.data<Index>();
  Index count = 0;
  visit<every_type>(from.dtype(), [&]<class T>() {
    using Stored = typename Sum<T>::Stored;
    const auto* const elements = static_cast<const Stored*>(from.data());
    auto* const target = static_cast<Stored*>(merged.data());
    for (std::size_t i = 0; i < order.size();) {
      const auto first = static_cast<std::size_t>(order[i]);
      Sum<T> sum(elements[first]);
      const auto same = [&](Index next) {
        return row_of[static_cast<std::size_t>(next)] == row_of[first] &&
               column_of[static_cast<std::size_t>(next)] == column_of[first];
      };
      while (++i < order.size() && same(order[i])) sum.add(elements[order[i]]);
      target[count] = sum.get();
      merged_columns.data<Index>()[count++] = column_of[first];
      ++start[row_of[first] + 1];
    }
  });
  std::partial_sum(start, start + shape[0] + 1, start);
  // the buffers may be longer than `count` because values were merged
  const auto first_of = [&](const Tensor& tensor) {
    return Tensor::borrow(tensor.data(), tensor.dtype(), {count}, {},
                          std::make_shared<Tensor>(tensor));
  };
  return Tensor::csr(first_of(merged), TrackedTensor::frozen(first_of(merged_columns)),
                     TrackedTensor::frozen(row_starts), shape);
}

}  // namespace tenon

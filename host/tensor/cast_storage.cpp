#include <algorithm>
#include <limits>
#include <tenon/cast_storage.hpp>
#include <tenon/failure.hpp>
#include <tenon/visit.hpp>
#include <vector>

namespace tenon {
namespace {

using Index = std::int64_t;

// A bool that came from a file need not be one of the two that C++ may read.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
bool is_zero(T value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
    return static_cast<float>(value) == 0.0f;
  else
    return value == T{};
}

// f.template operator()<T>(values) with the elements as they are stored.
template <class F>
void visit_stored(const Tensor& tensor, F&& f) {
  visit(tensor.dtype(), [&]<class T>() { f(static_cast<Stored<T>*>(tensor.data())); });
}

[[noreturn]] void refuse(const Tensor& tensor, const std::string& reason) {
  throw Failure(FailureKind::usage, join(tensor.storage(), " ", tensor.dtype(), " ", tensor.shape(), " ", reason));
}

template <class To>
Tensor converted(const Tensor& indices) {
  Tensor result = Tensor::empty(dtype_of<To>, indices.shape());
  visit<Types{i32, i64}>(indices.dtype(), [&]<class From>() {
    const auto from = indices.values<From>();
    std::transform(from.begin(), from.end(), result.template values<To>().begin(), [](From i) { return static_cast<To>(i); });
  });
  return result;
}

// Indices that were checked lie below the dimensions and the number stored.
Tensor with_indices(const Tensor& sparse, DType wanted) {
  if (sparse.index_dtype() == wanted) return sparse;
  const bool csr = sparse.storage() == Storage::csr;
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  if (wanted == i32 && (sparse.shape()[csr ? 1 : 0] - 1 > most || (csr && sparse.stored() > most)))
    refuse(sparse, "may have indices that do not fit int32");
  const auto as_wanted = [&](const Tensor& indices) {
    return wanted == i32 ? converted<std::int32_t>(indices) : converted<Index>(indices);
  };
  if (csr) return Tensor::csr(sparse.stored_values(), as_wanted(sparse.columns()), as_wanted(sparse.row_starts()), sparse.shape());
  return Tensor::row_sparse(sparse.stored_values(), as_wanted(sparse.row_ids()), sparse.shape());
}

Tensor csr_from_dense(const Tensor& dense) {
  const Index rows = dense.shape()[0], columns = dense.shape()[1];
  Tensor starts = Tensor::empty(i64, {rows + 1}), columns_of, values;
  visit_stored(dense, [&]<class T>(const T* elements) {
    auto* const start = starts.data<Index>();
    start[0] = 0;
    for (Index row = 0; row < rows; ++row)
      start[row + 1] = start[row] + columns - std::count_if(elements + row * columns, elements + (row + 1) * columns, is_zero<T>);
    columns_of = Tensor::empty(i64, {start[rows]});
    values = Tensor::empty(dense.dtype(), {start[rows]});
    auto* column_of = columns_of.data<Index>();
    auto* value = static_cast<T*>(values.data());
    for (Index row = 0; row < rows; ++row) {
      for (Index column = 0; column < columns; ++column) {
        const T element = elements[row * columns + column];
        if (is_zero(element)) continue;
        *column_of++ = column;
        *value++ = element;
      }
    }
  });
  return Tensor::csr(values, columns_of, starts, dense.shape());
}

Index row_size(const Tensor& tensor) {
  const Shape shape = tensor.shape();
  Index size = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) size *= shape[axis];
  return size;
}

// Rows of `from` with the numbers `which`, one after the other.
void copy_rows(const Tensor& from, std::span<const Index> which, Index row, const Tensor& to) {
  visit_stored(from, [&]<class T>(const T* source) {
    auto* target = static_cast<T*>(to.data());
    for (const Index i : which) target = std::copy_n(source + i * row, row, target);
  });
}

Tensor rows_from_dense(const Tensor& dense) {
  const Shape shape = dense.shape();
  const Index size = dense.size() == 0 ? 0 : row_size(dense);
  std::vector<Index> kept;
  visit_stored(dense, [&]<class T>(const T* elements) {
    for (Index row = 0; size != 0 && row < shape[0]; ++row)
      if (!std::all_of(elements + row * size, elements + (row + 1) * size, is_zero<T>)) kept.push_back(row);
  });
  Shape values_shape = shape;
  values_shape.set(0, static_cast<Index>(kept.size()));
  Tensor values = Tensor::empty(dense.dtype(), values_shape);
  copy_rows(dense, kept, size, values);
  return Tensor::row_sparse(values, Tensor::from(kept, {static_cast<Index>(kept.size())}), shape);
}

Tensor dense_from_csr(const Tensor& csr) {
  Tensor dense = Tensor::zeros(csr.dtype(), csr.shape());
  const Index rows = csr.shape()[0], columns = csr.shape()[1];
  const auto* const starts = csr.row_starts().data<Index>();
  const auto* const columns_of = csr.columns().data<Index>();
  visit_stored(csr.stored_values(), [&]<class T>(const T* values) {
    auto* const elements = static_cast<T*>(dense.data());
    for (Index row = 0; row < rows; ++row)
      for (Index i = starts[row]; i < starts[row + 1]; ++i) elements[row * columns + columns_of[i]] = values[i];
  });
  return dense;
}

Tensor dense_from_rows(const Tensor& sparse) {
  Tensor dense = Tensor::zeros(sparse.dtype(), sparse.shape());
  const Index size = sparse.size() == 0 ? 0 : row_size(sparse);
  const Tensor row_ids = sparse.row_ids();
  visit_stored(sparse.stored_values(), [&]<class T>(const T* row) {
    auto* const elements = static_cast<T*>(dense.data());
    for (const Index i : row_ids.values<Index>()) {
      std::copy_n(row, size, elements + i * size);
      row += size;
    }
  });
  return dense;
}

// A matrix of the rows that store anything; the rest of csr fits both.
Tensor rows_from_csr(const Tensor& csr) {
  const auto starts = csr.row_starts().values<Index>();
  std::vector<Index> kept, kept_starts = {0};
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    if (starts[row] == starts[row + 1]) continue;
    kept.push_back(static_cast<Index>(row));
    kept_starts.push_back(starts[row + 1]);
  }
  const auto count = static_cast<Index>(kept.size());
  const Shape shape = {count, csr.shape()[1]};
  const Tensor values = dense_from_csr(Tensor::csr(csr.stored_values(), csr.columns(), Tensor::from(kept_starts, {count + 1}), shape));
  return Tensor::row_sparse(values, Tensor::from(kept, {count}), csr.shape());
}

Tensor csr_from_rows(const Tensor& sparse) {
  const Tensor kept = csr_from_dense(sparse.stored_values());
  const Tensor row_ids = sparse.row_ids(), kept_starts = kept.row_starts();
  const Index rows = sparse.shape()[0];
  Tensor starts = Tensor::empty(i64, {rows + 1});
  auto* const start = starts.data<Index>();
  start[0] = 0;
  Index next = 0;
  for (Index row = 0; row < rows; ++row) {
    if (next < sparse.stored() && row_ids.data<Index>()[next] == row) ++next;
    start[row + 1] = kept_starts.data<Index>()[next];
  }
  return Tensor::csr(kept.stored_values(), kept.columns(), starts, sparse.shape());
}

Tensor cast(const Tensor& from, Storage to) {
  if (to == Storage::csr) return from.storage() == Storage::dense ? csr_from_dense(from) : csr_from_rows(from);
  if (to == Storage::row_sparse) return from.storage() == Storage::dense ? rows_from_dense(from) : rows_from_csr(from);
  return from.storage() == Storage::csr ? dense_from_csr(from) : dense_from_rows(from);
}

}  // namespace

Tensor cast_storage(const Tensor& tensor, Storage storage, DType index_dtype) {
  if (index_dtype != i32 && index_dtype != i64)
    throw Failure(FailureKind::usage, join("indices must be int32 or int64, not ", index_dtype));
  if (storage == Storage::csr && tensor.shape().rank() != 2) refuse(tensor, "cannot become csr, which needs two dimensions");
  if (storage == Storage::csr && tensor.shape()[0] == INT64_MAX) refuse(tensor, "has more rows than csr can count");
  if (storage == Storage::row_sparse && tensor.shape().rank() < 1)
    refuse(tensor, "cannot become row_sparse, which needs at least one dimension");
  const bool as_wanted = tensor.storage() == storage && (storage == Storage::dense || tensor.index_dtype() == index_dtype);
  if (tensor.device() != "cpu" && !as_wanted) return cast_storage(tensor.to("cpu"), storage, index_dtype).to(tensor.device());
  if (tensor.storage() == storage) return storage == Storage::dense ? tensor : with_indices(tensor, index_dtype);
  const Tensor from = tensor.storage() == Storage::dense ? tensor.make_contiguous() : with_indices(tensor, i64);
  const Tensor result = cast(from, storage);
  return storage == Storage::dense ? result : with_indices(result, index_dtype);
}

}  // namespace tenon

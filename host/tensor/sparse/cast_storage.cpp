#include <algorithm>
#include <limits>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "tensor/sparse/storage_kernels.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

using Index = std::int64_t;

constexpr auto on_this_thread = [](Index count, Index, auto&& work) { work(Index{0}, count); };

[[noreturn]] void refuse(const Tensor& tensor, const std::string& reason) {
  throw Failure(FailureKind::usage,
                join(tensor.storage(), " ", tensor.dtype(), " ", tensor.shape(), " ", reason));
}

template <class To>
Tensor converted(const Tensor& indices) {
  Tensor result = Tensor::empty(dtype_of<To>, indices.shape());
  visit<Types{i32, i64}>(indices.dtype(), [&]<class From>() {
    const auto from = indices.values<From>();
    std::transform(from.begin(), from.end(), result.template values<To>().begin(),
                   [](From i) { return static_cast<To>(i); });
  });
  return result;
}

// Validated indices are below the dimensions and the number of stored values.
Tensor with_indices(const Tensor& sparse, DType index_dtype) {
  if (sparse.index_dtype() == index_dtype) return sparse;
  const bool csr = sparse.storage() == Storage::csr;
  constexpr Index max_index = std::numeric_limits<std::int32_t>::max();
  if (index_dtype == i32 &&
      (sparse.shape()[csr ? 1 : 0] - 1 > max_index || (csr && sparse.stored() > max_index)))
    refuse(sparse, "may have indices that do not fit int32");
  const auto with_dtype = [&](const Tensor& indices) {
    return TrackedTensor::frozen(index_dtype == i32 ? converted<std::int32_t>(indices)
                                                    : converted<Index>(indices));
  };
  if (csr)
    return Tensor::csr(sparse.stored_values(), with_dtype(sparse.columns()),
                       with_dtype(sparse.row_starts()), sparse.shape());
  return Tensor::row_sparse(sparse.stored_values(), with_dtype(sparse.row_ids()), sparse.shape());
}

Tensor csr_from_dense(const Tensor& dense) {
  const Index rows = dense.shape()[0], columns = dense.shape()[1];
  Tensor starts = Tensor::empty(i64, {rows + 1}), columns_of, values;
  visit<every_type>(dense.dtype(), [&]<class T>() {
    casts::csr_from_dense(
        static_cast<const T*>(dense.data()), rows, columns, on_this_thread, [&](Index stored) {
          columns_of = Tensor::empty(i64, {stored});
          values = Tensor::empty(dense.dtype(), {stored});
          return CsrOut<T>{values.data<T>(), columns_of.data<Index>(), starts.data<Index>()};
        });
  });
  return Tensor::csr(values, TrackedTensor::frozen(columns_of), TrackedTensor::frozen(starts),
                     dense.shape());
}

Index row_size(const Tensor& tensor) {
  const Shape shape = tensor.shape();
  Index size = tensor.size() == 0 ? 0 : 1;
  for (int axis = 1; axis < shape.rank() && size != 0; ++axis) size *= shape[axis];
  return size;
}

Tensor rows_from_dense(const Tensor& dense) {
  Tensor values, row_ids;
  visit<every_type>(dense.dtype(), [&]<class T>() {
    casts::rows_from_dense(static_cast<const T*>(dense.data()), dense.shape()[0], row_size(dense),
                           on_this_thread, [&](Index rows) {
                             Shape shape = dense.shape();
                             shape.set(0, rows);
                             values = Tensor::empty(dense.dtype(), shape);
                             row_ids = Tensor::empty(i64, {rows});
                             return RowSparseOut<T>{values.data<T>(), row_ids.data<Index>()};
                           });
  });
  return Tensor::row_sparse(values, TrackedTensor::frozen(row_ids), dense.shape());
}

Tensor dense_from_csr(const Tensor& csr) {
  Tensor dense = Tensor::empty(csr.dtype(), csr.shape());
  const Tensor values = csr.stored_values(), columns = csr.columns(), starts = csr.row_starts();
  visit<every_type>(csr.dtype(), [&]<class T>() {
    const Csr<const T> from{csr.shape()[0],        csr.shape()[1],
                            csr.stored(),          static_cast<const T*>(values.data()),
                            columns.data<Index>(), starts.data<Index>()};
    casts::dense_from_csr(from, static_cast<T*>(dense.data()), on_this_thread);
  });
  return dense;
}

Tensor dense_from_rows(const Tensor& sparse) {
  Tensor dense = Tensor::empty(sparse.dtype(), sparse.shape());
  const Tensor values = sparse.stored_values(), row_ids = sparse.row_ids();
  visit<every_type>(sparse.dtype(), [&]<class T>() {
    const RowSparse<const T> from{sparse.shape()[0], sparse.stored(), row_size(sparse),
                                  static_cast<const T*>(values.data()), row_ids.data<Index>()};
    casts::dense_from_rows(from, static_cast<T*>(dense.data()), on_this_thread);
  });
  return dense;
}

// Converts the nonempty rows to a dense matrix; values and columns of the csr tensor can be reused
// for it.
Tensor rows_from_csr(const Tensor& csr) {
  const auto starts = csr.row_starts().values<Index>();
  std::vector<Index> nonempty, nonempty_starts = {0};
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    if (starts[row] == starts[row + 1]) continue;
    nonempty.push_back(static_cast<Index>(row));
    nonempty_starts.push_back(starts[row + 1]);
  }
  const auto count = static_cast<Index>(nonempty.size());
  const Shape shape = {count, csr.shape()[1]};
  const Tensor values = dense_from_csr(Tensor::csr(
      csr.stored_values(), csr.columns(), Tensor::from(nonempty_starts, {count + 1}), shape));
  return Tensor::row_sparse(values, Tensor::from(nonempty, {count}), csr.shape());
}

Tensor csr_from_rows(const Tensor& sparse) {
  const Tensor nonempty = csr_from_dense(sparse.stored_values());
  const Tensor row_ids = sparse.row_ids(), nonempty_starts = nonempty.row_starts();
  const Index rows = sparse.shape()[0];
  Tensor starts = Tensor::empty(i64, {rows + 1});
  auto* const start = starts.data<Index>();
  start[0] = 0;
  Index next = 0;
  for (Index row = 0; row < rows; ++row) {
    if (next < sparse.stored() && row_ids.data<Index>()[next] == row) ++next;
    start[row + 1] = nonempty_starts.data<Index>()[next];
  }
  return Tensor::csr(nonempty.stored_values(), nonempty.columns(), TrackedTensor::frozen(starts),
                     sparse.shape());
}

Tensor cast(const Tensor& from, Storage to) {
  if (to == Storage::csr)
    return from.storage() == Storage::dense ? csr_from_dense(from) : csr_from_rows(from);
  if (to == Storage::row_sparse)
    return from.storage() == Storage::dense ? rows_from_dense(from) : rows_from_csr(from);
  return from.storage() == Storage::csr ? dense_from_csr(from) : dense_from_rows(from);
}

}  // namespace

Tensor cast_storage(const Tensor& tensor, Storage storage, DType index_dtype) {
  if (index_dtype != i32 && index_dtype != i64)
    throw Failure(FailureKind::usage, join("indices must be int32 or int64, not ", index_dtype));
  if (storage != Storage::dense && low_bit.has(tensor.dtype()))
    refuse(tensor, "cannot become sparse: its dtype is one of dense tensors only");
  if (storage == Storage::csr && tensor.shape().rank() != 2)
    refuse(tensor, "cannot become csr, which needs two dimensions");
  if (storage == Storage::csr && tensor.shape()[0] == INT64_MAX)
    refuse(tensor, "has more rows than csr can count");
  if (storage == Storage::row_sparse && tensor.shape().rank() < 1)
    refuse(tensor, "cannot become row_sparse, which needs at least one dimension");
  const bool unchanged = tensor.storage() == storage &&
                         (storage == Storage::dense || tensor.index_dtype() == index_dtype);
  if (tensor.device() != "cpu" && !unchanged)
    return cast_storage(tensor.to("cpu"), storage, index_dtype).to(tensor.device());
  if (tensor.storage() == storage)
    return storage == Storage::dense ? tensor : with_indices(tensor, index_dtype);
  const Tensor from =
      tensor.storage() == Storage::dense ? tensor.make_contiguous() : with_indices(tensor, i64);
  const Tensor result = cast(from, storage);
  return storage == Storage::dense ? result : with_indices(result, index_dtype);
}

}  // namespace tenon

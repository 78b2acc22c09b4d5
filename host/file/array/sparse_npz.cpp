#include <algorithm>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <utility>

#include "file/array/npz.hpp"
#include "io/counted.hpp"
#include "io/system_reason.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

class SparseNpz {
 public:
  SparseNpz(const std::filesystem::path& path, const NamedArrays& arrays)
      : path_(path), arrays_(arrays) {}

  Tensor read() {
    for (const auto& [name, tensor] : arrays_)
      if (name != "data" && name != "indices" && name != "indptr" && name != "shape" &&
          name != "_is_array")
        fail("a sparse matrix has no array '" + name + "'");
    const Tensor data = list("data");
    Tensor indices = list("indices"), starts = list("indptr");
    const Shape shape = read_shape();
    if (shape[0] == INT64_MAX || starts.size() != shape[0] + 1)
      fail(join("'indptr' has ", counted(starts.size(), "entry", "entries"), ", but a matrix of ",
                counted(shape[0], "row"), " needs one more than it has rows"));
    if (indices.dtype() != i32 || starts.dtype() != i32)
      indices = widened(indices, "indices"), starts = widened(starts, "indptr");
    if (ascends(starts, indices))
      return Tensor::csr(data, TrackedTensor::frozen(indices), TrackedTensor::frozen(starts),
                         shape);
    const Tensor sorted = csr_from_coordinates(data, rows_, indices, shape);
    return cast_storage(sorted, Storage::csr, indices.dtype());
  }

 private:
  Tensor list(const char* name) {
    const auto found = arrays_.find(name);
    if (found == arrays_.end())
      fail(std::string("the sparse matrix lacks the array '") + name + "'");
    if (found->second.shape().rank() != 1)
      fail(join("'", name, "' has the shape ", found->second.shape(),
                " but must have one dimension"));
    return found->second;
  }

  // Converts any integer dtype to int64.
  Tensor widened(const Tensor& integers, const char* name) const {
    if (!any_integer.has(integers.dtype()))
      fail(join("'", name, "' is ", integers.dtype(), " but must be integers"));
    if (integers.dtype() == i64) return integers;
    const Tensor wide = Tensor::empty(i64, integers.shape());
    visit<any_integer>(integers.dtype(), [&]<class T>() {
      std::transform(integers.data<T>(), integers.data<T>() + integers.size(),
                     wide.data<std::int64_t>(), [&](T number) {
                       if (!std::in_range<std::int64_t>(number))
                         fail(join("'", name, "' has ", number, ", which does not fit int64"));
                       return static_cast<std::int64_t>(number);
                     });
    });
    return wide;
  }

  Shape read_shape() {
    const Tensor shape = widened(list("shape"), "shape");
    if (shape.size() != 2) fail(join("'shape' has ", shape.size(), " entries but needs 2"));
    const auto* const dims = shape.data<std::int64_t>();
    for (int axis = 0; axis < 2; ++axis)
      if (dims[axis] < 0) fail(join("'shape' has a dimension of ", dims[axis]));
    return {dims[0], dims[1]};
  }

  // Returns whether the columns increase in every row; if not, fills rows_ with the row of each
  // entry. Invalid row starts are left for Tensor::csr to report.
  bool ascends(const Tensor& starts, const Tensor& columns) {
    const Tensor all = Tensor::zeros(i64, columns.shape());
    bool ascending = true;
    visit_indices(starts, columns, [&](auto start, auto column) {
      const auto stored = static_cast<std::int64_t>(column.size());
      if (start.front() != 0 || start.back() != stored ||
          !std::is_sorted(start.begin(), start.end()))
        return;
      for (std::size_t row = 0; row + 1 < start.size(); ++row) {
        const auto begin = static_cast<std::size_t>(start[row]),
                   end = static_cast<std::size_t>(start[row + 1]);
        for (std::size_t i = begin; i < end; ++i) {
          all.data<std::int64_t>()[i] = static_cast<std::int64_t>(row);
          ascending = ascending && (i == begin || column[i] > column[i - 1]);
        }
      }
    });
    if (!ascending) rows_ = all;
    return ascending;
  }

  template <class F>
  static void visit_indices(const Tensor& starts, const Tensor& columns, F&& f) {
    if (starts.dtype() == i32)
      f(starts.values<std::int32_t>(), columns.values<std::int32_t>());
    else
      f(starts.values<std::int64_t>(), columns.values<std::int64_t>());
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw file_failure("read", path_, reason);
  }

  const std::filesystem::path& path_;
  const NamedArrays& arrays_;
  Tensor rows_;
};

}  // namespace

Tensor csr_from_npz(const std::filesystem::path& path, const std::string& format,
                    const NamedArrays& arrays) {
  if (format != "csr")
    throw file_failure(
        "read", path,
        "it holds a sparse matrix in the format '" + format + "' but only csr is supported",
        "write it with scipy.sparse.save_npz(file, matrix.tocsr())");
  try {
    return SparseNpz(path, arrays).read();
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::usage) throw;
    throw file_failure("read", path, failure.what());
  }
}

NamedArrays npz_of_csr(const Tensor& csr) {
  const Shape shape = csr.shape();
  return {{"data", csr.stored_values()},
          {"indices", csr.columns()},
          {"indptr", csr.row_starts()},
          {"shape", Tensor::from({shape[0], shape[1]}, {2})}};
}

}  // namespace tenon

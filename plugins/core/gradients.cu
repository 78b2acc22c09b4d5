// CUDA kernels of the host's operators that gradient graphs use.
#include <tenon/detail/host_operators.hpp>
#include <tenon/elementwise.hpp>
#include <tenon/gpu/launch.hpp>
#include <tenon/gpu/number.hpp>
#include <tenon/gpu/scan.hpp>
#include <tenon/gpu/scratch.hpp>
#include <tenon/operator.hpp>

#include "../shared/rows.hpp"
#include "row_search.hpp"

namespace {

template <class T>
struct AddElements {
  const T *left, *right;
  T* sum;

  TENON_FN void operator()(std::int64_t i) const { sum[i] = static_cast<T>(left[i] + right[i]); }
};

/// 1 for each stored row that `other` does not store.
template <class T>
struct IsMissingIn {
  tenon::RowSparse<const T> own, other;

  TENON_FN std::int64_t operator()(std::int64_t row) const {
    return !stores(other, own.row_ids[row]);
  }
};

/// Writes a row of the left tensor, plus the right tensor's row of the same index if it has one.
template <class T>
struct MergeLeft {
  tenon::RowSparse<const T> left, right;
  tenon::RowSparseOut<T> out;
  const std::int64_t*
      offsets;  ///< number of rows that only the right tensor stores, before each of its rows

  TENON_DEVICE void operator()(std::int64_t row, std::int64_t first, std::int64_t step) const {
    const auto id = left.row_ids[row], other = first_not_below(right, id), size = left.row_size,
               to = row + offsets[other];
    const T* const a = left.values + row * size;
    const T* const b = stores(right, id) ? right.values + other * size : nullptr;
    if (first == 0) out.row_ids[to] = id;
    for (auto i = first; i < size; i += step)
      out.values[to * size + i] = b ? static_cast<T>(a[i] + b[i]) : a[i];
  }
};

template <class T>
struct MergeRight {
  tenon::RowSparse<const T> left, right;
  tenon::RowSparseOut<T> out;
  const std::int64_t* offsets;

  TENON_DEVICE void operator()(std::int64_t row, std::int64_t first, std::int64_t step) const {
    const auto id = right.row_ids[row], size = right.row_size,
               to = offsets[row] + first_not_below(left, id);
    if (stores(left, id)) return;
    if (first == 0) out.row_ids[to] = id;
    for (auto i = first; i < size; i += step)
      out.values[to * size + i] = right.values[row * size + i];
  }
};

template <class T>
struct Fill {
  T* to;
  T number;
  bool add;

  TENON_FN void operator()(std::int64_t i) const {
    to[i] = add ? static_cast<T>(to[i] + number) : number;
  }
};

}  // namespace

/// The sparse kernel waits for the number of rows, so it is not captured.
struct SumGradientsCuda : tenon::detail::SumGradients {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const auto sum = call.output<T>(0);
      tenon::gpu::for_each(
          call, sum.size(),
          AddElements<T>{call.input<T>(0).data(), call.input<T>(1).data(), sum.data()});
    });
  }
  void forward_sparse(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto left = call.row_sparse<T>(0), right = call.row_sparse<T>(1);
      const tenon::gpu::Scratch<std::int64_t> scratch(
          call, right.rows + 1 + tenon::gpu::scan_scratch(right.rows));
      auto* const offsets = scratch.data();
      tenon::gpu::scan(call, right.rows, IsMissingIn<T>{right, left}, offsets,
                       offsets + right.rows + 1);
      const auto out = call.allocate_row_sparse<T>(
          0, left.rows + tenon::gpu::wait_for(call, offsets + right.rows));
      for_each_row(call, left.rows, left.row_size, MergeLeft<T>{left, right, out, offsets});
      for_each_row(call, right.rows, right.row_size, MergeRight<T>{left, right, out, offsets});
    });
  }
};

struct FillLikeCuda : tenon::detail::FillLike {
  static constexpr bool capturable = true;

  void forward_sparse(const tenon::Call& call) const { forward(call); }
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const auto to = call.output<T>(0);
      const auto number = static_cast<T>(value);
      tenon::gpu::for_each(call, to.size(),
                           Fill<T>{to.data(), number, call.write(0) == tenon::Write::add});
    });
  }
};

/// Supports strides and all write modes, like every elementwise kernel.
using StopGradientCuda = tenon::cuda_kernel<tenon::detail::StopGradient>::type;

TENON_KERNEL(sum_gradients, cuda, SumGradientsCuda)
TENON_KERNEL(fill_like, cuda, FillLikeCuda)
TENON_KERNEL(stop_gradient, cuda, StopGradientCuda)

// Functions with f(0) = 0 over sparse tensors: the stored values change, their places do not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../call.hpp"
#include "../infer_storage.hpp"
#include "../visit.hpp"
#include "map.hpp"
#include "run.hpp"

namespace tenon {
namespace [[gnu::visibility("hidden")]] elementwise {

/// For an operator of one input whose result at 0 is 0.
inline void keep_storage(InferStorage& io) {
  if (io.backward() || io.input(0) == Storage::dense) return;
  io.set_output(0, io.input(0));
  io.sparse_kernel();
}

/// n values side by side as a tensor; shape must outlive it.
template <class T>
tenon_tensor values_tensor(T* values, std::int64_t* n) {
  tenon_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dense.data = const_cast<std::remove_const_t<T>*>(values);
  tensor.dense.ndim = 1;
  tensor.dense.shape = n;
  tensor.dtype = static_cast<std::uint8_t>(dtype_of<std::remove_const_t<T>>);
  return tensor;
}

template <class T, class Out>
void map_values(const Call& call, const Kernel& kernel, const T* from, Out* to, std::int64_t n) {
  const tenon_tensor in = values_tensor(from, &n);
  tenon_tensor out = values_tensor(to, &n);
  Job job{
      kernel.op, kernel.loops->forward, kernel.loops->accumulate_result, kernel.convert, kernel.loops->compute, kernel.loops->result, &out,
      Write::to};
  job.read(&in);
  map(call, job);
}

/// T: element type of the input, Out: of the output.
template <class T, class Out>
void forward_sparse(const Call& call, const Kernel& kernel) {
  if (call.write(0) == Write::none) return;
  if (call.storage(0) == Storage::csr) {
    const auto in = call.csr<T>(0);
    const auto out = call.allocate_csr<Out>(0, in.nnz);
    std::copy_n(in.columns_of, in.nnz, out.columns_of);
    std::copy_n(in.row_starts, in.rows + 1, out.row_starts);
    map_values(call, kernel, in.values, out.values, in.nnz);
  } else {
    const auto in = call.row_sparse<T>(0);
    const auto out = call.allocate_row_sparse<Out>(0, in.rows);
    std::copy_n(in.row_ids, in.rows, out.row_ids);
    map_values(call, kernel, in.values, out.values, in.rows * in.row_size);
  }
}

}  // namespace gnu::visibility("hidden")]]elementwise
}  // namespace tenon

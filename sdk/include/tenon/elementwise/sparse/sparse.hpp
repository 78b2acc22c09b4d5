// Functions with f(0) = 0 on sparse tensors: the stored values change, the sparsity pattern does
// not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../call.hpp"
#include "../../detail/host_error.hpp"
#include "../../infer_storage.hpp"
#include "../../version.hpp"
#include "../map.hpp"
#include "../run.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// For the output of a function of one argument that is 0 at 0.
[[gnu::cold]] inline void keep_storage(InferStorage& io) {
  if (io.input(0) == Storage::dense) return;
  io.set_output(0, io.input(0));
  io.sparse_kernel();
}

/// Allocates output number `output` with the sparsity pattern of `like`; in backward, the gradient
/// of that input. Error (type): it has another storage, or the indices are not int64.
[[gnu::cold]] inline tenon_tensor& allocate_like(const tenon_call& raw, const tenon_tensor& like,
                                                 std::uint32_t output = 0) {
  const bool backward = raw.dispatch == TENON_BACKWARD || raw.dispatch == TENON_BACKWARD_SPARSE;
  const tenon_tensor& result = backward ? *raw.input_grads[output] : *raw.outputs[output];
  if (result.storage != like.storage || like.index_dtype != TENON_I64)
    fail(ErrorKind::type,
         {"this sparse kernel preserves the storage and needs int64 indices, but ",
          static_cast<Storage>(like.storage), " with ", static_cast<DType>(like.index_dtype),
          " is to become ", static_cast<Storage>(result.storage)});
  tenon_tensor* out = nullptr;
  HostError error;
  if (raw.host->allocate_sparse(&raw, output, like.stored, &out, error.raw())) error.raise();
  return *out;
}

/// Returns the stored values of a tensor as a dense one.
inline tenon_tensor values_of(const tenon_tensor& sparse, std::int64_t* count) {
  tenon_tensor values = sparse;
  values.dense.ndim = 1;
  values.dense.shape = count;
  values.dense.strides = nullptr;
  return values;
}

inline std::int64_t stored_elements(const tenon_tensor& sparse) {
  std::int64_t count = sparse.stored;
  for (int axis = 1; sparse.storage == TENON_ROW_SPARSE && axis < sparse.dense.ndim; ++axis)
    count *= sparse.dense.shape[axis];
  return count;
}

[[gnu::cold]] inline void forward_sparse(const Call& call, const Kernel& kernel) {
  const tenon_call& raw = call.raw();
  if (write_of(call, 0) == Write::none) return;
  const tenon_tensor& in = *raw.inputs[0];
  tenon_tensor& out = allocate_like(raw, in);
  const auto copy = [](const void* from, const void* to, std::int64_t n) {
    if (n > 0)
      std::memcpy(const_cast<void*>(to), from, static_cast<std::size_t>(n) * sizeof(std::int64_t));
  };
  const bool csr = in.storage == TENON_CSR;
  copy(in.indices, out.indices, in.stored);
  if (csr) copy(in.row_starts, out.row_starts, in.dense.shape[0] + 1);
  std::int64_t count = stored_elements(in);
  const tenon_tensor from = values_of(in, &count);
  tenon_tensor to = values_of(out, &count);
  Job job = forward_job(kernel, &to, Write::to);
  job.read(&from);
  map(call, job);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

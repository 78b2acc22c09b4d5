// Kernels that map each value to another one at the same position: all elements of a dense tensor,
// or the stored ones of a sparse tensor. One loop then serves dense, csr and row_sparse tensors,
// forward and backward. It is correct only if 0 maps to 0.
//
//     void infer_storage(tenon::InferStorage& io) const { tenon::keep_sparsity(io); }
//     void forward(const tenon::Call& call) const {
//       const tenon::SameSparsity tensors(call, tenon::copy_indices);
//       const auto* x = tensors.read<float>();
//       auto* y = tensors.written<float>();
//       for (std::int64_t i = 0; i < tensors.count(); ++i) y[i] = 2 * x[i];
//     }
//     void forward_sparse(const tenon::Call& call) const { forward(call); }
#pragma once
#include <cstdint>
#include <cstring>

#include "call.hpp"
#include "elementwise/sparse/sparse.hpp"
#include "infer_storage.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// For infer_storage(): output 0 has the storage of input 0; in backward, the gradient of input 0
/// has that of output 0's gradient. If that is dense, it does nothing, and the host calls forward.
[[gnu::cold]] inline void keep_sparsity(InferStorage& io) {
  const Storage storage = io.backward() ? io.output_grad(0) : io.input(0);
  if (storage == Storage::dense) return;
  io.set_output(0, storage);
  io.sparse_kernel();
}

/// Copies `count` indices of a tensor on the CPU; on CUDA use gpu::CopyIndices.
inline void copy_indices(std::int64_t* to, const std::int64_t* from, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *to);
}

/// The tensors of such a kernel: it reads input 0 and writes output 0; in backward, the gradients
/// of output 0 and input 0. Dense tensors must be contiguous: do not declare op.takes_strides().
/// The constructor allocates a sparse result and copies the indices. The kernel writes with
/// Write::to or in_place: do not declare op.accumulates().
class SameSparsity {
 public:
  /// copy: copy_indices, or gpu::CopyIndices.
  template <class Copy>
  SameSparsity(const Call& call, const Copy& copy) {
    const tenon_call& raw = call.raw();
    from_ = call.backward() ? raw.output_grads[0] : raw.inputs[0];
    to_ = call.backward() ? raw.input_grads[0] : raw.outputs[0];
    if (!from_ || !to_)
      fail(ErrorKind::failed, {"a tensor that this kernel reads or writes is missing"});
    if (from_->storage == TENON_DENSE) return;
    const tenon_tensor& out = elementwise::allocate_like(raw, *from_);
    copy(indices(out.indices), indices(from_->indices), from_->stored);
    if (out.storage == TENON_CSR)
      copy(indices(out.row_starts), indices(from_->row_starts), out.dense.shape[0] + 1);
    to_ = &out;
  }

  /// The number of values to read and to write: all of a dense tensor, the stored ones of a sparse
  /// one.
  std::int64_t count() const {
    const bool dense = from_->storage == TENON_DENSE;
    return dense ? Shape::of_tensor(from_->dense.shape, from_->dense.ndim).size()
                 : elementwise::stored_elements(*from_);
  }
  /// The dtypes may differ, as in a cast.
  DType read_dtype() const { return static_cast<DType>(from_->dtype); }
  DType written_dtype() const { return static_cast<DType>(to_->dtype); }
  /// Pointers to count() values of T, which must be the type of read_dtype(), or of written_dtype()
  /// below: neither is checked.
  template <class T>
  const T* read() const {
    return static_cast<const T*>(values(*from_));
  }
  template <class T>
  T* written() const {
    return static_cast<T*>(values(*to_));
  }

 private:
  static std::int64_t* indices(const void* all) {
    return static_cast<std::int64_t*>(const_cast<void*>(all));
  }
  static void* values(const tenon_tensor& tensor) {
    return static_cast<unsigned char*>(tensor.dense.data) + tensor.dense.byte_offset;
  }

  const tenon_tensor *from_, *to_;  // owned by the call, valid until the kernel returns
};

/// Former names.
[[deprecated("use keep_sparsity; until 0.4")]] inline void keep_places(InferStorage& io) {
  keep_sparsity(io);
}
using SamePlaces [[deprecated("use SameSparsity; until 0.4")]] = SameSparsity;

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

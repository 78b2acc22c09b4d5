// Kernels that make one value of another and leave everything where it is: all elements of a dense tensor, those stored of a sparse one.
#pragma once
#include <cstdint>
#include <cstring>

#include "call.hpp"
#include "elementwise/sparse.hpp"
#include "infer_storage.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// For infer_storage(): output 0 is stored as input 0 is; in backward, input 0's gradient as output 0's. Nothing where that is dense.
[[gnu::cold]] inline void keep_places(InferStorage& io) {
  const Storage storage = io.backward() ? io.output_grad(0) : io.input(0);
  if (storage == Storage::dense) return;
  io.set_output(0, storage);
  io.sparse_kernel();
}

/// Of a tensor on the CPU; on CUDA it is gpu::CopyIndices.
inline void copy_indices(std::int64_t* to, const std::int64_t* from, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *to);
}

/// What such a kernel reads and writes: input 0 and output 0, in backward output 0's gradient and input 0's. Dense tensors must be
/// contiguous; a sparse result is allocated, with its indices, when this is made.
class SamePlaces {
 public:
  /// copy: copy_indices, or gpu::CopyIndices.
  template <class Copy>
  SamePlaces(const Call& call, const Copy& copy) {
    const tenon_call& raw = call.raw();
    from_ = call.backward() ? raw.output_grads[0] : raw.inputs[0];
    to_ = call.backward() ? raw.input_grads[0] : raw.outputs[0];
    if (!from_ || !to_) fail(ErrorKind::failed, {"a tensor that this kernel reads or writes is missing"});
    if (from_->storage == TENON_DENSE) return;
    const tenon_tensor& out = elementwise::allocate_like(raw, *from_);
    copy(indices(out.indices), indices(from_->indices), from_->stored);
    if (out.storage == TENON_CSR) copy(indices(out.row_starts), indices(from_->row_starts), out.dense.shape[0] + 1);
    to_ = &out;
  }

  std::int64_t count() const {
    const bool dense = from_->storage == TENON_DENSE;
    return dense ? Shape::of_tensor(from_->dense.shape, from_->dense.ndim).size() : elementwise::stored_elements(*from_);
  }
  DType read_dtype() const { return static_cast<DType>(from_->dtype); }
  DType written_dtype() const { return static_cast<DType>(to_->dtype); }
  template <class T>
  const T* read() const {
    return static_cast<const T*>(values(*from_));
  }
  template <class T>
  T* written() const {
    return static_cast<T*>(values(*to_));
  }

 private:
  static std::int64_t* indices(const void* all) { return static_cast<std::int64_t*>(const_cast<void*>(all)); }
  static void* values(const tenon_tensor& tensor) { return static_cast<unsigned char*>(tensor.dense.data) + tensor.dense.byte_offset; }

  const tenon_tensor *from_, *to_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

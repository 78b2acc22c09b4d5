// Which storages an operator's sparse kernels take and give.
#pragma once
#include <cstddef>

#include "abi.h"
#include "dtype.hpp"
#include "shape.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Asked when some tensor is sparse, for forward and, where the class has backward_sparse, for backward. An operator whose kernel takes
/// these storages sets those of the outputs and calls sparse_kernel(); otherwise the host makes the sparse tensors dense and warns once.
/// Used by one thread.
class InferStorage {
 public:
  explicit InferStorage(tenon_infer_storage& raw) : raw_(&raw) {}
  const tenon_infer_storage& raw() const { return *raw_; }

  /// True: asked for backward_sparse, which reads output gradients and inputs and writes input gradients.
  bool backward() const { return raw_->dispatch == TENON_BACKWARD; }
  bool cuda() const { return raw_->device_type == TENON_CUDA; }

  int inputs() const { return static_cast<int>(backward() ? raw_->output_count : raw_->input_count); }
  Storage input(int i) const { return read(i, inputs(), output_grads(), "input"); }
  /// Its shape and dtype, unknown where the host does not tell: sizes that a kernel does not take are better refused here than there.
  TensorType input_type(int i) const {
    read(i, inputs(), 0, "input");
    if (raw_->size < offsetof(tenon_infer_storage, input_types) + sizeof(void*) || !raw_->input_types) return {};
    const tenon_type& type = raw_->input_types[output_grads() + i];
    return {type.rank < 0 ? Shape() : Shape(type.dims, type.rank), static_cast<DType>(type.dtype)};
  }
  /// In backward.
  int output_grads() const { return backward() ? static_cast<int>(raw_->input_count - raw_->output_count) : 0; }
  Storage output_grad(int i) const { return read(i, output_grads(), 0, "output gradient"); }

  /// In forward of output i, in backward of the gradient of input i. Dense where it is not set.
  void set_output(int i, Storage storage) {
    check(i, static_cast<int>(raw_->output_count), backward() ? "input gradient" : "output");
    raw_->outputs[i] = static_cast<std::uint8_t>(storage);
  }
  void sparse_kernel() { raw_->sparse_kernel = 1; }  ///< run forward_sparse (backward_sparse) with the storages set here

 private:
  Storage read(int i, int count, int first, const char* what) const {
    check(i, count, what);
    return static_cast<Storage>(raw_->inputs[first + i]);
  }
  static void check(int i, int count, const char* what) {
    if (i < 0 || i >= count) fail(ErrorKind::failed, {"infer_storage() asks for ", what, " ", i, ", but there are ", count});
  }

  tenon_infer_storage* raw_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

// Storages of the inputs and outputs of an operator's sparse kernels.
#pragma once
#include <cstddef>

#include "abi.h"
#include "dtype.hpp"
#include "shape.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A query of the host for given input storages: does forward_sparse (backward_sparse) support
/// them, and which storages do its outputs have?
///
///     void infer_storage(tenon::InferStorage& io) const {
///       // "no": the host converts sparse tensors to dense, warns once
///       if (io.backward() || io.input(0) != tenon::Storage::csr) return;
///       io.set_output(0, tenon::Storage::csr);  // and calls forward
///       io.sparse_kernel();  // "yes": the host calls forward_sparse
///     }
///
/// Called for forward if the class has forward_sparse, and for backward if it has backward_sparse,
/// even if all tensors are dense: a kernel may give a sparse result for them, such as the gradient
/// of an embedding. The answer may depend on parameters, storages and types. Threads: this object
/// is used by one thread.
class InferStorage {
 public:
  explicit InferStorage(tenon_infer_storage& raw) : raw_(&raw) {}
  const tenon_infer_storage& raw() const { return *raw_; }

  /// True if the query is for backward_sparse, which reads output gradients and inputs and writes
  /// input gradients.
  bool backward() const { return raw_->dispatch == TENON_BACKWARD; }
  /// Whether the node runs on a GPU: answer for the CUDA kernel, whose storages may differ from
  /// those of the CPU kernel.
  bool cuda() const { return raw_->device_type == TENON_CUDA; }

  /// The node's inputs, in forward and in backward; dense for those that are not connected. Error:
  /// no such input.
  int inputs() const {
    return static_cast<int>(backward() ? raw_->output_count : raw_->input_count);
  }
  Storage input(int i) const { return read(i, inputs(), output_grads(), "input"); }
  /// Shape and dtype of an input; unknown if the host is older or does not know them. If the sparse
  /// kernel does not support some sizes, reject them here rather than in the kernel: then the
  /// operator still works, on dense tensors.
  TensorType input_type(int i) const {
    read(i, inputs(), 0, "input");
    if (raw_->size < offsetof(tenon_infer_storage, input_types) + sizeof(void*) ||
        !raw_->input_types)
      return {};
    const tenon_type& type = raw_->input_types[output_grads() + i];
    return {type.rank < 0 ? Shape() : Shape(type.dims, type.rank), static_cast<DType>(type.dtype)};
  }
  /// The output gradients, in backward; none in forward.
  int output_grads() const {
    return backward() ? static_cast<int>(raw_->input_count - raw_->output_count) : 0;
  }
  Storage output_grad(int i) const { return read(i, output_grads(), 0, "output gradient"); }

  /// Sets the storage of output i of the sparse kernel, or in backward of the gradient of input i;
  /// default: dense. The kernel then calls allocate_csr or allocate_row_sparse for it, or output()
  /// for a dense one. csr needs rank 2, row_sparse at least 1.
  void set_output(int i, Storage storage) {
    check(i, static_cast<int>(raw_->output_count), backward() ? "input gradient" : "output");
    raw_->outputs[i] = static_cast<std::uint8_t>(storage);
  }
  void sparse_kernel() {
    raw_->sparse_kernel = 1;
  }  ///< run forward_sparse (backward_sparse) with the storages set here

 private:
  Storage read(int i, int count, int first, const char* what) const {
    check(i, count, what);
    return static_cast<Storage>(raw_->inputs[first + i]);
  }
  static void check(int i, int count, const char* what) {
    if (i < 0 || i >= count)
      fail(ErrorKind::failed,
           {"infer_storage() requests ", what, " ", i, ", but there are ", count});
  }

  tenon_infer_storage* raw_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

// What a kernel gets: its tensors, how to write them, scratch memory, random numbers and threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "abi.h"
#include "dtype.hpp"
#include "names.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "shape.hpp"
#include "sparse.hpp"
#include "view.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// One call of a kernel's forward or backward. Everything it gives is borrowed: nothing of it may be kept after the kernel returns. All of
/// it may be used from the threads of parallel_for. Tensors are asked for by position or by name in describe(); an unknown position or
/// name, a wrong element type, a tensor that is not there or not dense are errors that say what is right.
class Call {
 public:
  Call(const tenon_call& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}
  const tenon_call& raw() const { return *raw_; }

  bool training() const { return raw_->flags & TENON_CALL_TRAINING; }
  bool backward() const { return raw_->dispatch == TENON_BACKWARD || raw_->dispatch == TENON_BACKWARD_SPARSE; }
  int inputs() const { return static_cast<int>(raw_->input_count); }  ///< optional ones count, connected or not
  int outputs() const { return static_cast<int>(raw_->output_count); }

  /// Whether an optional input is connected. In backward: whether its value or its gradient is at hand.
  bool has_input(std::string_view name) const { return has_input(names_->inputs.find(name, inputs())); }
  bool has_input(int i) const { return i >= 0 && i < inputs() && (raw_->inputs[i] || (backward() && raw_->input_grads[i])); }
  /// In backward: false where the gradient of output i is zero everywhere, and no tensor is made of it.
  bool has_output_grad(int i) const { return backward() && i >= 0 && i < outputs() && raw_->output_grads[i]; }

  TensorType input_type(int i) const { return type(Slot::input, i, backward() ? Slot::input_grad : Slot::input); }
  TensorType output_type(int i) const { return type(Slot::output, i, backward() ? Slot::output_grad : Slot::output); }

  template <class T>
  View<const T> input(int i) const {
    return view<const T>(Slot::input, i);
  }
  template <class T>
  View<const T> input(std::string_view name) const {
    return view<const T>(Slot::input, find(Slot::input, name));
  }
  /// In forward: the output to write, as write(i) says.
  template <class T>
  View<T> output(int i) const {
    return view<T>(Slot::output, forward_only(i));
  }
  template <class T>
  View<T> output(std::string_view name) const {
    return view<T>(Slot::output, forward_only(find(Slot::output, name)));
  }
  /// In backward: the gradient of the loss by output i.
  template <class T>
  View<const T> output_grad(int i) const {
    return view<const T>(Slot::output_grad, i);
  }
  template <class T>
  View<const T> output_grad(std::string_view name) const {
    return view<const T>(Slot::output_grad, find(Slot::output, name));
  }
  /// In backward: the gradient to write, as write(i) says. Error where write(i) is none.
  template <class T>
  View<T> input_grad(int i) const {
    return view<T>(Slot::input_grad, i);
  }
  template <class T>
  View<T> input_grad(std::string_view name) const {
    return view<T>(Slot::input_grad, find(Slot::input, name));
  }
  /// In backward: the output that forward wrote.
  template <class T>
  View<const T> output_value(int i) const {
    return view<const T>(Slot::output, i);
  }
  template <class T>
  View<const T> output_value(std::string_view name) const {
    return view<const T>(Slot::output, find(Slot::output, name));
  }
  template <class T>
  View<T> state(int i) const {
    return view<T>(Slot::state, i);
  }
  template <class T>
  View<T> state(std::string_view name) const {
    return view<T>(Slot::state, find(Slot::state, name));
  }

  /// How to write output i in forward, input_grad i in backward. Never add unless the operator says op.accumulates().
  Write write(int i) const {
    if (i < 0 || i >= (backward() ? inputs() : outputs())) refuse(backward() ? Slot::input_grad : Slot::output, i, {});
    return static_cast<Write>(raw_->writes[i]);
  }

  /// Bytes of a dense tensor's elements, for kernels that do not look at them.
  std::size_t input_bytes(int i) const { return bytes(input_type(i)); }
  std::size_t output_bytes(int i) const { return bytes(output_type(i)); }

  /// Storage of input i; dense for one that is not connected.
  Storage storage(int i) const { return storage(Slot::input, i); }
  Storage output_grad_storage(int i) const { return storage(Slot::output_grad, i); }
  /// What infer_storage() chose for output i in forward, for the gradient of input i in backward.
  Storage output_storage(int i) const { return storage(written(), i); }

  template <class T>
  Csr<const T> csr(int input) const {
    return csr<T>(Slot::input, input);
  }
  template <class T>
  RowSparse<const T> row_sparse(int input) const {
    return row_sparse<T>(Slot::input, input);
  }
  /// In backward_sparse.
  template <class T>
  Csr<const T> csr_output_grad(int output) const {
    return csr<T>(Slot::output_grad, output);
  }
  template <class T>
  RowSparse<const T> row_sparse_output_grad(int output) const {
    return row_sparse<T>(Slot::output_grad, output);
  }
  /// Memory for an output of nnz values, to be filled before the kernel returns. Once per output. In backward_sparse: for the gradient of
  /// that input.
  template <class T>
  CsrOut<T> allocate_csr(int output, std::int64_t nnz) const {
    const tenon_tensor& t = allocate(output, Storage::csr, dtype_of<T>, nnz);
    return {values<T>(t), const_cast<std::int64_t*>(indices(t.indices)), const_cast<std::int64_t*>(indices(t.row_starts))};
  }
  template <class T>
  RowSparseOut<T> allocate_row_sparse(int output, std::int64_t rows) const {
    const tenon_tensor& t = allocate(output, Storage::row_sparse, dtype_of<T>, rows);
    return {values<T>(t), const_cast<std::int64_t*>(indices(t.indices))};
  }

  /// Scratch memory for `count` T, aligned to 64 bytes, its content undefined. Always the same memory: ask once and divide it. Error: more
  /// bytes than workspace() of the operator asked for.
  template <class T>
  T* workspace(std::size_t count) const {
    if (count > raw_->workspace_size / sizeof(T)) refuse_workspace(count, sizeof(T));
    return static_cast<T*>(raw_->workspace);
  }

  Random random() const { return {raw_->seed, raw_->step, raw_->node}; }
  void* stream() const { return raw_->stream; }  ///< cudaStream_t of a CUDA kernel
  int threads() const { return raw_->threads; }  ///< that parallel_for may use

  /// Runs body(begin, end) over parts of [0, n), each about grain long, on the host's threads and this one; returns when all are done. The
  /// parts depend on n and grain alone, never on the number of threads. Up to grain, the body runs here in one piece, at the cost of a
  /// comparison. What a body throws is thrown here, once the parts that had begun are done.
  template <class Body>
  void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) const {
    if (n <= 0) return;
    if (n <= grain || !raw_->host) {
      body(std::int64_t{0}, n);
    } else {
      run_parallel(*raw_, n, grain > 0 ? grain : 1, body);
    }
  }

 private:
  enum class Slot { input, output, output_grad, input_grad, state };

  const detail::NameGroup& names(Slot slot) const {
    return slot == Slot::state ? names_->states : slot == Slot::output || slot == Slot::output_grad ? names_->outputs : names_->inputs;
  }
  int count(Slot slot) const {
    return slot == Slot::state                                 ? static_cast<int>(raw_->state_count)
           : slot == Slot::output || slot == Slot::output_grad ? outputs()
                                                               : inputs();
  }
  /// The tensor, null where it is not there. Error: there is no position i.
  const tenon_tensor* slot(Slot slot, int i) const {
    if (i < 0 || i >= count(slot)) refuse_position(slot, i);
    switch (slot) {
      case Slot::input:
        return raw_->inputs[i];
      case Slot::output:
        return raw_->outputs[i];
      case Slot::output_grad:
        return backward() ? raw_->output_grads[i] : nullptr;
      case Slot::input_grad:
        return backward() ? raw_->input_grads[i] : nullptr;
      case Slot::state:
        return raw_->states[i];
    }
    return nullptr;
  }

  template <class T>
  View<T> view(Slot where, int i) const {
    constexpr DType wanted = dtype_of<std::remove_const_t<T>>;
    const tenon_tensor* tensor = slot(where, i);
    if (!tensor || tensor->dtype != static_cast<std::uint8_t>(wanted) || tensor->storage != TENON_DENSE) [[unlikely]]
      refuse(where, i, wanted);
    return View<T>(tensor->dense);
  }
  Slot written() const { return backward() ? Slot::input_grad : Slot::output; }
  Storage storage(Slot where, int i) const {
    const tenon_tensor* tensor = slot(where, i);
    return tensor ? static_cast<Storage>(tensor->storage) : Storage::dense;
  }
  template <class T>
  Csr<const T> csr(Slot where, int i) const {
    const tenon_tensor& t = sparse(where, i, Storage::csr, dtype_of<T>);
    return {t.dense.shape[0], t.dense.shape[1], t.stored, values<const T>(t), indices(t.indices), indices(t.row_starts)};
  }
  template <class T>
  RowSparse<const T> row_sparse(Slot where, int i) const {
    const tenon_tensor& t = sparse(where, i, Storage::row_sparse, dtype_of<T>);
    return {t.dense.shape[0], t.stored, row_size(t), values<const T>(t), indices(t.indices)};
  }
  template <class T>
  static T* values(const tenon_tensor& tensor) {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(tensor.dense.data) + tensor.dense.byte_offset);
  }
  static const std::int64_t* indices(const void* pointer) { return static_cast<const std::int64_t*>(pointer); }
  static std::int64_t row_size(const tenon_tensor& tensor) {
    std::int64_t size = 1;
    for (int axis = 1; axis < tensor.dense.ndim; ++axis) size *= tensor.dense.shape[axis];
    return size;
  }
  static std::size_t bytes(const TensorType& type) { return static_cast<std::size_t>(type.shape.size()) * size_of(type.dtype); }

  TensorType type(Slot where, int i, Slot otherwise) const {
    const tenon_tensor* tensor = slot(where, i);
    if (!tensor) tensor = slot(otherwise, i);
    if (!tensor) refuse_missing(where, i);
    return {Shape::of_tensor(tensor->dense.shape, tensor->dense.ndim), static_cast<DType>(tensor->dtype)};
  }

  // ---- how it refuses; out of the way of the code that runs
  int find(Slot slot, std::string_view name) const;
  int forward_only(int i) const;
  const tenon_tensor& sparse(Slot where, int i, Storage storage, DType wanted) const;
  const tenon_tensor& allocate(int output, Storage storage, DType wanted, std::int64_t stored) const;
  std::string place(Slot slot, int i) const;
  [[noreturn]] void refuse(Slot slot, int i, DType wanted) const;
  [[noreturn]] void refuse_position(Slot slot, int i) const;
  [[noreturn]] void refuse_missing(Slot slot, int i) const;
  [[noreturn]] void refuse_workspace(std::size_t count, std::size_t size) const;

  const tenon_call* raw_;
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

#include "call_errors.hpp"
#include "version.hpp"

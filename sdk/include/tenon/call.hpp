// The arguments of a kernel: its tensors and how to write them, scratch memory, random numbers and
// threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "abi.h"
#include "detail/host_function.hpp"
#include "detail/index_or_name.hpp"
#include "detail/names.hpp"
#include "detail/parallel.hpp"
#include "dtype.hpp"
#include "random.hpp"
#include "shape.hpp"
#include "sparse.hpp"
#include "view.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Levels of call.log().
enum class Log : std::int32_t { info = TENON_LOG_INFO, warning = TENON_LOG_WARNING };

/// One call of a kernel: the argument of forward, forward_sparse, backward and backward_sparse.
///
/// Lifetime: every view, pointer and text is borrowed and must not be kept after the kernel
/// returns. Threads: all functions except allocate_* may be called from the bodies of parallel_for.
/// On CUDA, all element pointers point to device memory.
///
/// Tensors are referred to by their index in describe() or by name: "data", and "data2" for the
/// third tensor of a variadic input "data". Errors (thrown as Error, with the fix): no such index
/// or name, another element type, a sparse tensor, a tensor that this call does not have.
///
///                  forward  forward_sparse          backward          backward_sparse
///     input        dense    dense; csr, row_sparse  backward_reads    same; csr, row_sparse
///     output       write    write; allocate_*       output_value      output_value
///     output_grad  -        -                       read              read; csr_output_grad, ...
///     input_grad   -        -                       write             write; allocate_*
///     state        read and write in all of them; the host preserves it between calls
class Call {
  using Which = detail::IndexOrName;

 public:
  Call(const tenon_call& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}
  const tenon_call& raw() const { return *raw_; }

  /// Whether the run is part of training: dropout drops elements, batch_norm uses the batch's mean.
  bool training() const { return raw_->flags & TENON_CALL_TRAINING; }
  /// True in backward and backward_sparse.
  bool backward() const {
    return raw_->dispatch == TENON_BACKWARD || raw_->dispatch == TENON_BACKWARD_SPARSE;
  }
  int inputs() const {
    return static_cast<int>(raw_->input_count);
  }  ///< includes optional ones, connected or not
  int outputs() const { return static_cast<int>(raw_->output_count); }  ///< includes hidden ones

  /// Whether an optional input is connected; false for unknown names. In backward: whether its
  /// value or its gradient is available.
  ///
  ///     const float* bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
  bool has_input(Which input) const {
    const int i = input.in(names_->inputs, inputs());
    return i >= 0 && i < inputs() && (raw_->inputs[i] || (backward() && raw_->input_grads[i]));
  }
  /// In backward: false if the gradient of the output is zero everywhere; then it has no tensor.
  bool has_output_grad(Which output) const {
    const int i = output.in(names_->outputs, outputs());
    return backward() && i >= 0 && i < outputs() && raw_->output_grads[i];
  }

  /// Shape and dtype, fully known except for outputs that the kernel allocates. Valid for every
  /// connected input and every requested output, in all four functions, read or not, sparse or
  /// dense: `tenon::visit(call.input_type(0).dtype, [&]<class T>() { run(call.input<T>(0)); });`
  TensorType input_type(Which input) const {
    return type(Slot::input, input, backward() ? Slot::input_grad : Slot::input);
  }
  TensorType output_type(Which output) const {
    return type(Slot::output, output, backward() ? Slot::output_grad : Slot::output);
  }

  // ---- dense tensors. T must be the element type of the dtype: float for float32, tenon::half for
  // float16 ...
  //
  //     const auto x = call.input<float>("x");
  //     const auto y = call.output<float>("y");
  //     for (std::int64_t i = 0; i < y.size(); ++i) y[i] = 2 * x[i];

  /// The elements of an input. In backward they are available only if op.backward_reads names the
  /// input, or if describe() does not call it.
  template <class T>
  View<const T> input(Which input) const {
    return view<const T>(Slot::input, input);
  }
  /// In forward: the output to write, as write(i) requires. With Write::add its elements are a
  /// valid sum to add to; with Write::in_place they are the input's; otherwise they are undefined.
  /// Errors: called in backward; write(i) is Write::none.
  template <class T>
  View<T> output(Which output) const {
    return view<T>(Slot::output, forward_only(index(Slot::output, output)));
  }
  /// In backward: the gradient of the loss with respect to output i, with the output's shape and
  /// dtype. Error: has_output_grad(i) is false.
  template <class T>
  View<const T> output_grad(Which output) const {
    return view<const T>(Slot::output_grad, output);
  }
  /// In backward: the gradient with respect to input i, to write as write(i) requires, with the
  /// input's shape and dtype. Error: write(i) is Write::none.
  ///
  ///     if (call.write(0) == tenon::Write::none) return;  // this gradient is not requested
  ///     const auto dy = call.output_grad<float>(0), x = call.input<float>(0);
  ///     const auto dx = call.input_grad<float>(0);
  ///     for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * x[i] * dy[i];
  template <class T>
  View<T> input_grad(Which input) const {
    return view<T>(Slot::input_grad, input);
  }
  /// In backward: the output that forward wrote, if op.backward_reads names it or describe() does
  /// not call it. Includes hidden outputs.
  template <class T>
  View<const T> output_value(Which output) const {
    return view<const T>(Slot::output, output);
  }
  /// A tensor that the host preserves for this node between calls: always dense, read and written
  /// in place.
  /// Error: describe() has no such state.
  template <class T>
  View<T> state(Which state) const {
    return view<T>(Slot::state, state);
  }

  /// How to write output i in forward, or input_grad i in backward: not at all (none), every
  /// element (to), every element in the memory of the input that op.inplace pairs it with
  /// (in_place; element i of that input is lost once you write element i), or += (add). add is used
  /// only if the operator declares op.accumulates(), in_place only if it declares op.inplace or
  /// op.backward_inplace. Error: no such i.
  ///
  ///     const bool add = call.write(0) == tenon::Write::add;
  ///     y[i] = add ? y[i] + value : value;
  Write write(Which output) const {
    const int i = index(written(), output);
    if (i < 0 || i >= count(written())) refuse_position(written(), i);
    return static_cast<Write>(raw_->writes[i]);
  }

  /// Size in bytes of a dense tensor of this type, for kernels that only copy elements.
  std::size_t input_bytes(Which input) const { return bytes(input_type(input)); }
  std::size_t output_bytes(Which output) const { return bytes(output_type(output)); }

  /// In forward: allocates output i, for which describe() calls op.output(...).allocated(): exactly
  /// once in each call, also for empty shapes, and from one thread. The kernel must write its
  /// elements. On CUDA it is memory of the call's device, and the shape must be known on the host:
  /// wait for the stream first. Errors: another dtype; a shape that contradicts the result of
  /// infer(); an output that is already allocated; out of memory.
  ///
  ///     const auto found = call.allocate<std::int64_t>("indices", {count, x.rank()});
  template <class T>
  View<T> allocate(Which output, const Shape& shape) const {
    return View<T>(
        allocate_dense(forward_only(index(Slot::output, output)), dtype_of<T>, shape).dense);
  }

  // ---- sparse tensors: only in forward_sparse and backward_sparse. Elsewhere all tensors are
  // dense.
  //
  //     const auto x = call.csr<float>(0);  // infer_storage accepted csr for input 0
  //     const auto y = call.allocate_csr<float>(0, x.nnz);  // and chose csr for output 0
  //     std::copy_n(x.columns_of, x.nnz, y.columns_of);
  //     std::copy_n(x.row_starts, x.rows + 1, y.row_starts);
  //     for (std::int64_t i = 0; i < x.nnz; ++i) y.values[i] = 2 * x.values[i];

  /// Storage of input i; dense if it is not connected.
  Storage storage(Which input) const { return storage(Slot::input, input); }
  /// Storage of an output's gradient; dense if it is zero and not stored.
  Storage output_grad_storage(Which output) const { return storage(Slot::output_grad, output); }
  /// The storage that infer_storage() chose for output i in forward, or for the gradient of input i
  /// in backward. Determines whether to call allocate_csr, allocate_row_sparse or output.
  Storage output_storage(Which output) const { return storage(written(), output); }

  /// Stored values and int64 indices of a sparse input. Error: it has another storage or dtype;
  /// check storage(i) if both are possible.
  template <class T>
  Csr<const T> csr(Which input) const {
    return csr<T>(Slot::input, input);
  }
  template <class T>
  RowSparse<const T> row_sparse(Which input) const {
    return row_sparse<T>(Slot::input, input);
  }
  /// In backward_sparse: a sparse output gradient.
  template <class T>
  Csr<const T> csr_output_grad(Which output) const {
    return csr<T>(Slot::output_grad, output);
  }
  template <class T>
  RowSparse<const T> row_sparse_output_grad(Which output) const {
    return row_sparse<T>(Slot::output_grad, output);
  }
  /// Allocates a sparse output, or in backward_sparse the gradient of that input, with nnz values
  /// or this many rows. Call it exactly once for each output for which infer_storage chose the
  /// storage, also with 0, and from one thread. Fill all of it before the kernel returns: indices
  /// ascending (in csr, within each row), row_starts from 0 to nnz. The host checks this. Errors:
  /// another storage or dtype was chosen; more elements than the shape can hold; out of memory.
  template <class T>
  CsrOut<T> allocate_csr(Which output, std::int64_t nnz) const {
    const tenon_tensor& t = allocate(index(written(), output), Storage::csr, dtype_of<T>, nnz);
    return {values<T>(t), const_cast<std::int64_t*>(indices(t.indices)),
            const_cast<std::int64_t*>(indices(t.row_starts))};
  }
  /// Allocates a row_sparse output of `rows` rows, each with the shape after the first axis; the
  /// kernel fills values and row_ids.
  template <class T>
  RowSparseOut<T> allocate_row_sparse(Which output, std::int64_t rows) const {
    const tenon_tensor& t =
        allocate(index(written(), output), Storage::row_sparse, dtype_of<T>, rows);
    return {values<T>(t), const_cast<std::int64_t*>(indices(t.indices))};
  }

  /// Scratch memory for `count` T, aligned to 64 bytes, uninitialized. Every call returns the same
  /// memory: call it once and divide the memory, also among threads. Error: more bytes than the
  /// operator's workspace() (in backward: backward_workspace()) returned.
  template <class T>
  T* workspace(std::size_t count) const {
    if (count > raw_->workspace_size / sizeof(T)) refuse_workspace(count, sizeof(T));
    return static_cast<T*>(raw_->workspace);
  }

  /// The packed constant that prepare() filled in this slot; null if there is none: the kernel then
  /// computes without it, with the same bits.
  const void* prepacked(int slot) const {
    if (raw_->size < offsetof(tenon_call, kept_count) + sizeof raw_->kept_count)
      return nullptr;  // an older host
    return slot >= 0 && static_cast<std::uint32_t>(slot) < raw_->kept_count ? raw_->kept[slot]
                                                                            : nullptr;
  }
  /// The former name of prepacked().
  [[deprecated("use prepacked; until 0.4")]] const void* kept(int slot) const {
    return prepacked(slot);
  }
  /// Whether an input, or an output, is channels-last: [N, C, H, W] with the strides of N, H, W, C.
  /// Only in operators that declare op.takes_channels_last(); otherwise all tensors are plain.
  bool channels_last(Which input) const { return is_channels_last(slot(Slot::input, input)); }
  bool output_channels_last(Which output) const {
    return is_channels_last(slot(Slot::output, output));
  }

  /// Random numbers of this node in this run; backward gets the same as forward. Requires
  /// op.uses_random().
  Random random() const { return {raw_->seed, raw_->step, raw_->node}; }
  /// Writes a line to the host's log, prefixed with node and operator. Information is dropped
  /// unless the user requests it; a warning is shown once. The arguments are joined as those of
  /// Error. Not for bodies of CUDA kernels. May be called from any thread of the call.
  ///
  ///     if (!fits)
  ///       call.log(tenon::Log::warning, "kernel ", size, " does not fit the cache: slow path");
  template <class... Parts>
  void log(Log level, const Parts&... parts) const {
    const auto write = detail::host_function<tenon_log>(*raw_, "log/1");
    if (write) write(raw_, static_cast<std::int32_t>(level), join(parts...).c_str());
  }
  /// Whether the user has cancelled the run: a kernel that takes seconds may check it periodically
  /// and throw Error; its output is discarded. Always false in eager calls and in worker processes.
  /// May be called from any thread of the call.
  bool cancelled() const {
    const auto ask = detail::host_function<tenon_cancelled>(*raw_, "cancelled/1");
    return ask && ask(raw_) != 0;
  }

  /// The cudaStream_t of a CUDA kernel; null on the CPU. Enqueue all work on it and do not wait:
  /// the elements are ready when the stream reaches that work, not when the kernel function begins.
  void* stream() const { return raw_->stream; }
  /// Number of threads that parallel_for may use, including this one; for libraries that take a
  /// number of threads. Results must not depend on it.
  int threads() const { return raw_->threads; }

  /// Runs body(begin, end) for chunks of [0, n), each of about `grain` indices, on the host's
  /// threads and this one; returns when all are done. The chunks depend only on n and grain, never
  /// on the number of threads, so sums per chunk are the same on every machine. If n <= grain, the
  /// body runs here as one chunk, at the cost of a comparison. An exception of a body is rethrown
  /// here, once all chunks that had begun are done. Choose a large grain for cheap work: 16384
  /// suits one addition per element. Calls may be nested. Only for CPU kernels.
  ///
  ///     call.parallel_for(y.size(), 16384, [&](std::int64_t begin, std::int64_t end) {
  ///       for (auto i = begin; i < end; ++i) y[i] = 2 * x[i];
  ///     });
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

  // An output gradient has the name of its output, an input gradient that of its input.
  const detail::NameGroup& names(Slot slot) const {
    return slot == Slot::state                                 ? names_->states
           : slot == Slot::output || slot == Slot::output_grad ? names_->outputs
                                                               : names_->inputs;
  }
  int count(Slot slot) const {
    return slot == Slot::state                                 ? static_cast<int>(raw_->state_count)
           : slot == Slot::output || slot == Slot::output_grad ? outputs()
                                                               : inputs();
  }
  int index(Slot slot, Which which) const {
    return which.named() ? find(slot, which.name()) : which.index();
  }
  /// Returns the tensor, or null if the call does not have it. Error: no such index or name.
  const tenon_tensor* slot(Slot slot, Which which) const {
    const int i = index(slot, which);
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
  View<T> view(Slot where, Which which) const {
    constexpr DType requested = dtype_of<std::remove_const_t<T>>;
    const int i = index(where, which);
    const tenon_tensor* tensor = slot(where, i);
    if (!tensor || tensor->dtype != static_cast<std::uint8_t>(requested) ||
        tensor->storage != TENON_DENSE) [[unlikely]]
      refuse(where, i, requested);
    return View<T>(tensor->dense);
  }
  static bool is_channels_last(const tenon_tensor* tensor) {
    if (!tensor || tensor->storage != TENON_DENSE || !tensor->dense.strides ||
        tensor->dense.ndim < 3)
      return false;
    const tenon_dense& dense = tensor->dense;
    if (dense.strides[1] != 1) return false;
    std::int64_t expected = dense.shape[1];
    for (int axis = dense.ndim - 1; axis >= 0; --axis) {
      if (axis == 1) continue;
      if (dense.strides[axis] != expected) return false;
      expected *= dense.shape[axis];
    }
    return true;
  }
  // The tensors that the kernel writes: outputs in forward, input gradients in backward.
  Slot written() const { return backward() ? Slot::input_grad : Slot::output; }
  Storage storage(Slot where, Which which) const {
    const tenon_tensor* tensor = slot(where, which);
    return tensor ? static_cast<Storage>(tensor->storage) : Storage::dense;
  }
  template <class T>
  Csr<const T> csr(Slot where, Which which) const {
    const tenon_tensor& t = sparse(where, index(where, which), Storage::csr, dtype_of<T>);
    return {t.dense.shape[0],   t.dense.shape[1],   t.stored,
            values<const T>(t), indices(t.indices), indices(t.row_starts)};
  }
  template <class T>
  RowSparse<const T> row_sparse(Slot where, Which which) const {
    const tenon_tensor& t = sparse(where, index(where, which), Storage::row_sparse, dtype_of<T>);
    return {t.dense.shape[0], t.stored, row_size(t), values<const T>(t), indices(t.indices)};
  }
  template <class T>
  static T* values(const tenon_tensor& tensor) {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(tensor.dense.data) +
                                tensor.dense.byte_offset);
  }
  static const std::int64_t* indices(const void* pointer) {
    return static_cast<const std::int64_t*>(pointer);
  }
  static std::int64_t row_size(const tenon_tensor& tensor) {
    std::int64_t size = 1;
    for (int axis = 1; axis < tensor.dense.ndim; ++axis) size *= tensor.dense.shape[axis];
    return size;
  }
  static std::size_t bytes(const TensorType& type) {
    return static_cast<std::size_t>(type.shape.size()) * size_of(type.dtype);
  }

  // Returns the type of the tensor, or of the other one that has the same type.
  TensorType type(Slot where, Which which, Slot otherwise) const {
    const int i = index(where, which);
    const tenon_tensor* tensor = slot(where, i);
    if (!tensor) tensor = slot(otherwise, i);
    if (!tensor) refuse_missing(where, i);
    return {Shape::of_tensor(tensor->dense.shape, tensor->dense.ndim),
            static_cast<DType>(tensor->dtype)};
  }

  // ---- errors, defined in call_errors.hpp, out of line
  int find(Slot slot, std::string_view name) const;
  int forward_only(int i) const;
  const tenon_tensor& sparse(Slot where, int i, Storage storage, DType requested) const;
  const tenon_tensor& allocate(int output, Storage storage, DType requested,
                               std::int64_t stored) const;
  const tenon_tensor& allocate_dense(int output, DType requested, const Shape& shape) const;
  std::string slot_name(Slot slot, int i) const;
  [[noreturn]] void refuse(Slot slot, int i, DType requested) const;
  [[noreturn]] void refuse_position(Slot slot, int i) const;
  [[noreturn]] void refuse_missing(Slot slot, int i) const;
  [[noreturn]] void refuse_workspace(std::size_t count, std::size_t size) const;

  const tenon_call* raw_;  // owned by the host, valid until the kernel returns
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

#include "detail/call_errors.hpp"
#include "version.hpp"

// Packed constants: what a kernel precomputes of constant inputs, such as a packed, transposed or
// summed weight.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "detail/host_error.hpp"
#include "detail/index_or_name.hpp"
#include "detail/names.hpp"
#include "shape.hpp"
#include "version.hpp"
#include "view.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Lets a CPU kernel precompute data from its constant inputs. The class defines one more member,
/// and its forward finds the data:
///
///     void prepare(tenon::Prepare& io) const {
///       if (io.backward() || !io.is_constant("weight")) return;
///       const auto [rows, columns] = ...;  // of io.input("weight").shape
///       io.prepack(0, "weight", tenon::join("transposed ", rows, "x", columns),
///               sizeof(float) * rows * columns, [&](void* memory) {
///         transpose(io.constant<float>("weight"), static_cast<float*>(memory));
///       });
///     }
///     void forward(const tenon::Call& call) const {
///       // null: not prepared, use call.input<float>("weight")
///       const auto* transposed = static_cast<const float*>(call.prepacked(0));
///       ...
///     }
///
/// prepacked() is null if elements may change (weights in training, memory that the application can
/// write), in eager calls, in worker processes, and with hosts before 0.2. The kernel must
/// therefore also work without it, and give the same bits; `tenon check` compares the two. Inputs
/// are unchanged, and the kernel may read them together with the prepared data.
///
/// Tenon calls prepare() when it makes a plan, for each function that the plan calls: memory is
/// then only counted, and nothing is filled. It calls prepare() again before the plan first runs.
/// Both times prepare() must make the same requests: they may depend only on parameters, types,
/// threads() and backward(), never on elements. Threads: this object is used by one thread, but
/// prepare() of one operator object may run on several threads at once.
class Prepare {
  using Which = detail::IndexOrName;

 public:
  Prepare(tenon_prepare& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}
  const tenon_prepare& raw() const { return *raw_; }

  /// Whether the data are for backward or backward_sparse. Inputs and outputs have the indices and
  /// names of forward in either case.
  bool backward() const {
    return raw_->dispatch == TENON_BACKWARD || raw_->dispatch == TENON_BACKWARD_SPARSE;
  }
  int threads() const {
    return raw_->threads;
  }  ///< as call.threads(); results must not depend on it
  /// Includes optional inputs, connected or not; a variadic input takes an index for each of its
  /// tensors.
  int inputs() const { return static_cast<int>(raw_->input_count); }
  int outputs() const { return static_cast<int>(raw_->output_count); }

  /// Whether an input is connected; false for unknown names.
  bool has_input(Which input) const {
    const int i = input.in(names_->inputs, inputs());
    return i >= 0 && i < inputs() && raw_->inputs[i].present;
  }
  /// Fully known shapes and dtypes, as planned; prepare() is called again for a plan with other
  /// shapes. Unknown for an input that is not connected. Error: no such index or name.
  TensorType input(Which input) const { return read(raw_->inputs[input_index(input)]); }
  /// The type of an output, including hidden ones. In backward it is that of the output that
  /// forward wrote, not of a gradient. Error: no such output.
  TensorType output(Which output) const { return read(raw_->outputs[output_index(output)]); }
  /// Whether the call's tensor of that input or output will be channels-last. A constant is always
  /// plain here, but the prepared data may have any layout that suits the other tensors. See
  /// op.takes_channels_last().
  bool channels_last(Which input) const {
    return raw_->inputs[input_index(input)].layout == TENON_LAYOUT_CHANNELS_LAST;
  }
  bool output_channels_last(Which output) const {
    return raw_->outputs[output_index(output)].layout == TENON_LAYOUT_CHANNELS_LAST;
  }

  /// Whether the elements of an input (an index or name of describe(), or one tensor of a variadic
  /// input) stay the same for the lifetime of the session; false for one that is not connected.
  bool is_constant(Which input) const { return raw_->constants[input_index(input)] != nullptr; }
  /// The elements of a constant input: contiguous, borrowed until prepare() returns. Errors: the
  /// input is not constant; another dtype.
  template <class T>
  View<const T> constant(Which input) const {
    return View<const T>(constant_tensor(input_index(input), dtype_of<T>).dense);
  }

  /// Requests `bytes` bytes, aligned to 64, that fill(void* memory) computes from this constant
  /// input, and possibly from parameters and types; the call finds them as
  /// call.prepacked(slot). Slots are from 0 to 63, each for one request. Memory with the same
  /// tensor, operator and key is shared, so the key must identify everything that determines the
  /// bytes: what is computed, parameters, types, layouts, sizes, and the addresses of other
  /// constants that fill reads. fill is called at most once, before this returns. Errors: no such
  /// input, or it is not constant; a slot that is in use; no bytes; exceptions of fill; out of
  /// memory.
  template <class Fill>
  void prepack(int slot, Which input, detail::OnlyName key, std::size_t bytes, Fill&& fill) {
    prepack_by(slot, input_index(input), key, bytes, &call_fill<std::remove_reference_t<Fill>>,
               &fill);
  }
  /// The former name of prepack().
  template <class Fill>
  [[deprecated("use prepack; until 0.4")]] void keep(int slot, Which input, detail::OnlyName key,
                                                     std::size_t bytes, Fill&& fill) {
    prepack(slot, input, key, bytes, fill);
  }

 private:
  template <class Fill>
  static std::int32_t call_fill(void* fill, void* memory, tenon_error* error) noexcept {
    return guarded(error, [&] { (*static_cast<Fill*>(fill))(memory); });
  }
  static TensorType read(const tenon_type& type) {
    return {type.rank < 0 ? Shape() : Shape(type.dims, type.rank), static_cast<DType>(type.dtype)};
  }
  [[gnu::cold]] void prepack_by(int slot, int input, std::string_view key, std::size_t bytes,
                                tenon_fill fill, const void* context) {
    if (slot < 0)
      fail(ErrorKind::failed, {"prepare() requests slot ", slot, ", but slots count from 0"});
    HostError error;
    tenon_error* const own = raw_->error;
    raw_->error = error.raw();
    const auto failed =
        raw_->keep(raw_, static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(input),
                   std::string(key).c_str(), bytes, fill, const_cast<void*>(context));
    raw_->error = own;
    if (failed) error.raise();
  }
  [[gnu::cold]] int index(const char* kind, const detail::NameGroup& names, int count,
                          Which which) const {
    const int i = which.in(names, count);
    if (i >= 0 && i < count) return i;
    if (which.named())
      fail(ErrorKind::failed, {"prepare() requests ", kind, " '", which.name(),
                               "', but describe() names ", names.list()});
    fail(ErrorKind::failed,
         {"prepare() requests ", kind, " ", i, ", but there are ", count, " (", names.list(), ")"});
  }
  int input_index(Which input) const { return index("input", names_->inputs, inputs(), input); }
  int output_index(Which output) const {
    return index("output", names_->outputs, outputs(), output);
  }
  [[gnu::cold]] const tenon_tensor& constant_tensor(int i, DType requested) const {
    const tenon_tensor* const tensor = raw_->constants[i];
    if (!tensor)
      fail(ErrorKind::failed, {"input '", names_->inputs.at(i, inputs()),
                               "' is not constant: check is_constant() first"});
    const auto dtype = static_cast<DType>(tensor->dtype);
    if (dtype != requested)
      fail(ErrorKind::type, {"input '", names_->inputs.at(i, inputs()), "' holds ", dtype,
                             ", but prepare() requests ", requested});
    return *tensor;
  }

  tenon_prepare* raw_;
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

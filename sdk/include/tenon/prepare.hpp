// What a kernel keeps of inputs that do not change: a packed, transposed or summed weight, made once instead of in each call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "host_error.hpp"
#include "index_or_name.hpp"
#include "names.hpp"
#include "shape.hpp"
#include "version.hpp"
#include "view.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A CPU kernel's way to keep something of its constant inputs. The class gives one more member, and its forward finds what it kept:
///
///     void prepare(tenon::Prepare& io) const {
///       if (io.backward() || !io.is_constant("weight")) return;
///       const auto [rows, columns] = ...;                              // of io.input("weight").shape
///       io.keep(0, "weight", tenon::join("transposed ", rows, "x", columns), sizeof(float) * rows * columns, [&](void* memory) {
///         transpose(io.constant<float>("weight"), static_cast<float*>(memory));
///       });
///     }
///     void forward(const tenon::Call& call) const {
///       const auto* transposed = static_cast<const float*>(call.kept(0));  // null: nothing is kept, use call.input<float>("weight")
///       ...
///     }
///
/// kept() is null wherever elements may change (weights in training, memory that the application can write), in eager calls, in worker
/// processes, and with hosts before 0.2. So the kernel must work without, and give the same bits; `tenon check` compares the two. Inputs
/// stay as they are, and the kernel may read them beside what it kept.
///
/// Tenon asks when it makes a plan, for each function that it calls: memory is then counted, and nothing is filled. It asks again before
/// the plan first runs. Both times prepare() must ask for the same: it depends on parameters, types, threads() and backward() alone, never
/// on elements. Threads: this object is used by one, but prepare() of one operator object may run on several at once.
class Prepare {
  using Which = detail::IndexOrName;

 public:
  Prepare(tenon_prepare& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}
  const tenon_prepare& raw() const { return *raw_; }

  /// Whether what is kept is for backward or backward_sparse. Inputs and outputs are numbered and named as in forward all the same.
  bool backward() const { return raw_->dispatch == TENON_BACKWARD || raw_->dispatch == TENON_BACKWARD_SPARSE; }
  int threads() const { return raw_->threads; }  ///< as call.threads(); results must not depend on it
  /// Optional inputs count, connected or not, and a variadic input takes a position for each of its tensors.
  int inputs() const { return static_cast<int>(raw_->input_count); }
  int outputs() const { return static_cast<int>(raw_->output_count); }

  /// Whether an input is connected; false for unknown names.
  bool has_input(Which input) const {
    const int i = input.in(names_->inputs, inputs());
    return i >= 0 && i < inputs() && raw_->inputs[i].present;
  }
  /// Whole shapes and dtypes, as the plan has them; another plan, of other shapes, asks again. Unknown for an input that is not connected.
  /// Error: no such position or name.
  TensorType input(Which input) const { return read(raw_->inputs[input_index(input)]); }
  /// The same of an output, hidden ones included. In backward it is the output that forward wrote, not a gradient. Error: no such output.
  TensorType output(Which output) const { return read(raw_->outputs[output_index(output)]); }
  /// Whether the call's tensor of that input or output will be channels-last. A constant is always plain here: what the kernel keeps of it
  /// may have any layout that suits the other tensors. See op.takes_channels_last().
  bool channels_last(Which input) const { return raw_->inputs[input_index(input)].layout == TENON_LAYOUT_CHANNELS_LAST; }
  bool output_channels_last(Which output) const { return raw_->outputs[output_index(output)].layout == TENON_LAYOUT_CHANNELS_LAST; }

  /// Of one position or name, as describe() has it; a variadic input's tensors are asked one by one.
  /// Whether the elements of an input stay the same for as long as the session lives; false for one that is not connected.
  bool is_constant(Which input) const { return raw_->constants[input_index(input)] != nullptr; }
  /// The elements of a constant input: contiguous, borrowed until prepare() returns. Errors: the input is not constant; another dtype.
  template <class T>
  View<const T> constant(Which input) const {
    return View<const T>(constant_tensor(input_index(input), dtype_of<T>).dense);
  }

  /// Keeps `bytes` bytes, aligned to 64, that fill(void* memory) makes of this constant input, perhaps of parameters and types besides; the
  /// call finds them by call.kept(slot). Slots are from 0 to 63, each for one thing. Whatever reads the same tensor shares what has the
  /// same key in the same operator, so the key says all that decides on the bytes: what is made, parameters, types, layouts, sizes. fill is
  /// called at most once, before this returns. Errors: no such input, or it may change; a slot that is taken; no bytes; what fill throws;
  /// out of memory.
  template <class Fill>
  void keep(int slot, Which input, detail::OnlyName key, std::size_t bytes, Fill&& fill) {
    keep_by(slot, input_index(input), key, bytes, &call_fill<std::remove_reference_t<Fill>>, &fill);
  }

 private:
  template <class Fill>
  static std::int32_t call_fill(void* fill, void* memory, tenon_error* error) noexcept {
    return guarded(error, [&] { (*static_cast<Fill*>(fill))(memory); });
  }
  static TensorType read(const tenon_type& type) {
    return {type.rank < 0 ? Shape() : Shape(type.dims, type.rank), static_cast<DType>(type.dtype)};
  }
  [[gnu::cold]] void keep_by(int slot, int input, std::string_view key, std::size_t bytes, tenon_fill fill, const void* context) {
    if (slot < 0) fail(ErrorKind::failed, {"prepare() keeps something in slot ", slot, ", but slots count from 0"});
    HostError error;
    tenon_error* const own = raw_->error;
    raw_->error = error.raw();
    const auto failed = raw_->keep(raw_, static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(input), std::string(key).c_str(),
                                   bytes, fill, const_cast<void*>(context));
    raw_->error = own;
    if (failed) error.raise();
  }
  [[gnu::cold]] int index(const char* kind, const detail::NameGroup& names, int count, Which which) const {
    const int i = which.in(names, count);
    if (i >= 0 && i < count) return i;
    if (which.named()) fail(ErrorKind::failed, {"prepare() asks for ", kind, " '", which.name(), "', but describe() names ", names.list()});
    fail(ErrorKind::failed, {"prepare() asks for ", kind, " ", i, ", but there are ", count, " (", names.list(), ")"});
  }
  int input_index(Which input) const { return index("input", names_->inputs, inputs(), input); }
  int output_index(Which output) const { return index("output", names_->outputs, outputs(), output); }
  [[gnu::cold]] const tenon_tensor& constant_tensor(int i, DType wanted) const {
    const tenon_tensor* const tensor = raw_->constants[i];
    if (!tensor) fail(ErrorKind::failed, {"input '", names_->inputs.at(i, inputs()), "' may change: ask is_constant() first"});
    const auto dtype = static_cast<DType>(tensor->dtype);
    if (dtype != wanted)
      fail(ErrorKind::type, {"input '", names_->inputs.at(i, inputs()), "' holds ", dtype, ", but prepare() asks for ", wanted});
    return *tensor;
  }

  tenon_prepare* raw_;
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

// Inference of shapes and dtypes: the argument of an operator's infer().
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "detail/index_or_name.hpp"
#include "detail/names.hpp"
#include "shape.hpp"
#include "version.hpp"
#include "view.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// The elements of an input in infer(), row by row, borrowed until infer() returns; empty if they
/// are not known.
///
///     const auto sizes = io.values<std::int64_t>("shape");
///     if (sizes) ... sizes[0] ... sizes.size()
template <class T>
class Known {
 public:
  Known() = default;
  Known(const T* begin, std::int64_t size) : begin_(begin), size_(size), known_(true) {}
  explicit operator bool() const { return known_; }
  std::int64_t size() const { return size_; }  ///< also 0 if the elements are not known
  const T& operator[](std::int64_t i) const { return begin_[i]; }  ///< i below size(); not checked
  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size_; }

 private:
  // Points to the constant, or in eager calls to the caller's tensor.
  const T* begin_ = nullptr;
  std::int64_t size_ = 0;
  bool known_ = false;
};

/// Shapes and dtypes of a node's inputs, outputs and states: infer() reads what is known and adds
/// what follows from it.
///
///     void infer(tenon::Infer& io) const {
///       const auto data = io.input("data").shape;              // may be partly unknown: [?, 64]
///       if (!data.has_rank()) return;  // nothing follows yet; the host calls again
///       io.require(data.rank() == 2, "data is ", data, " but needs two dimensions");
///       io.set_input("weight", {num_hidden, data[1]});  // an input may follow from another one
///       io.set_output(0, {data[0], num_hidden});  // an unknown data[0] stays unknown
///     }
///
/// The host calls infer() several times, and anything may be unknown: rank, dimensions, dtypes. Set
/// what you can each time, whatever the host may already know. Every set_* merges: known [2, ?] and
/// set [?, 3] give [2, 3]; known [2, ?] and set [4, 3] is an error (type) that shows both; unknown
/// dimensions and dtypes change nothing. So "same shape" in both directions is
///
///     io.set_output(0, io.input(0).shape);
///     // output(0) now has the merged shape, also from consumers
///     io.set_input(0, io.output(0).shape);
///
/// infer() must depend only on parameters, types and values(). Threads: this object is used by one
/// thread, but infer() of one operator object may run on several threads at once.
class Infer {
  using Which = detail::IndexOrName;

 public:
  Infer(const tenon_infer& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}
  const tenon_infer& raw() const { return *raw_; }

  /// Indices are those of describe(); a variadic input takes one index for each of its tensors.
  /// Optional inputs count, connected or not.
  int inputs() const { return static_cast<int>(raw_->input_count); }
  int outputs() const { return static_cast<int>(raw_->output_count); }
  /// Whether an input is connected; true for every required one, false for unknown names:
  /// io.require(has_bias == io.has_input("bias"), "...") does not need its type.
  bool has_input(Which input) const {
    const int i = input.in(names_->inputs, inputs());
    return i >= 0 && i < inputs() && raw_->inputs[i].present;
  }

  /// In workspace(), supports() and algorithm(): whether the call's tensor will be channels-last;
  /// see op.takes_channels_last().
  bool channels_last(Which input) const {
    return inputs_group().entry(input).layout == TENON_LAYOUT_CHANNELS_LAST;
  }
  bool output_channels_last(Which output) const {
    return outputs_group().entry(output).layout == TENON_LAYOUT_CHANNELS_LAST;
  }

  /// In supports(): f32, or bf16 if the session requests it: f32 products may then round their
  /// factors to bfloat16 and add in f32. A kernel that does so is a TENON_KERNEL_VARIANT that
  /// supports nothing else. The types stay f32.
  DType precision() const { return raw_->precision == TENON_BF16 ? bf16 : f32; }

  /// Returns what is known so far: unknown_dtype and a shape without rank for what is not, for
  /// example for an optional input that is not connected. Error: no such index or name.
  TensorType input(Which input) const { return read(inputs_group().entry(input)); }
  TensorType output(Which output) const { return read(outputs_group().entry(output)); }
  /// The type of a state as set by set_state; unknown before that.
  TensorType state(Which state) const { return read(states_group().entry(state)); }

  /// Merges a type into the input's. An optional .weight() that is not connected is requested by
  /// this: a graph then creates a variable of this type. Other optional inputs stay unconnected, as
  /// do all of them in eager calls. Error (type): a contradiction.
  void set_input(Which input, const Shape& shape, DType dtype = unknown_dtype) {
    inputs_group().merge(input, shape, dtype);
  }
  /// Merges a type into the output's. An output without a dtype here gets the shared dtype of the
  /// inputs without .types() of their own, even if infer() returns early: set the dtype of indices
  /// or masks on every path.
  ///
  ///     io.set_output("indices", io.input(0).shape, tenon::i64);  // before any `return`
  /// A scalar is Shape::scalar(); Shape() sets nothing.
  void set_output(Which output, const Shape& shape, DType dtype = unknown_dtype) {
    const int i = outputs_group().index(output);
    outputs_group().merge(i, shape, dtype);
    if (dtype != unknown_dtype)
      raw_->outputs[i].layout = 1;  // a mark until share_dtype(): infer() does not use layouts
  }
  /// Sets the type of a state, which must depend only on inputs and parameters; states are created
  /// before the first call. Default dtype: float32.
  void set_state(Which state, const Shape& shape, DType dtype = DType::f32) {
    states_group().merge(state, shape, dtype);
  }

  /// Requires that these inputs and outputs have the same shape: what is known of one becomes known
  /// of all. Errors (type): a contradiction, with both shapes; no such name.
  ///
  ///     io.require_same_shape("left", "right", "sum");  // all that infer() of left + right needs
  template <class... Names>
  requires(std::is_convertible_v<Names, detail::OnlyName>&&...) void require_same_shape(
      Names... names) {
    Shape known;
    for (int pass = 0; pass < 2;
         ++pass)  // the second pass passes knowledge of the last names to the first ones
      (merge_named(names, known), ...);
  }

  /// The elements of an input, if they are known: always for constants and in eager calls; in runs,
  /// if the outputs are not known without them, as soon as they have been computed. T is the
  /// input's dtype in C++. For small inputs that determine the size of an output; at most 64 KiB
  /// are provided. infer() is called again when requested elements become known, so leave what
  /// follows from them unknown until then:
  ///
  ///     const auto sizes = io.values<std::int64_t>("shape");
  ///     if (sizes) io.set_output(0, tenon::Shape(sizes.begin(), static_cast<int>(sizes.size())));
  ///
  /// Hosts before 0.2 provide no elements. Errors: no such input; an input with another known
  /// dtype.
  template <class T>
  Known<T> values(Which which) const {
    constexpr DType requested = dtype_of<T>;
    const int i = inputs_group().index(which);
    const TensorType type = input(i);
    if (type.dtype != unknown_dtype && type.dtype != requested)
      fail(ErrorKind::type, {"input '", names_->inputs.at(i, inputs()), "' is ", type.dtype,
                             ", but infer() reads its elements as ", requested});
    if (raw_->size < offsetof(tenon_infer, wanted) + sizeof raw_->wanted || !raw_->wanted)
      return {};
    raw_->wanted[i] = 1;
    const tenon_tensor* const tensor = raw_->values ? raw_->values[i] : nullptr;
    if (!tensor || tensor->dtype != static_cast<std::uint8_t>(requested)) return {};
    const View<const T> view(tensor->dense);
    return Known<T>(view.begin(), view.size());
  }

  /// For the SDK, called after infer(): outputs that were set without a dtype, or not at all, get
  /// that of this input.
  void share_dtype(int input) const {
    const DType shared =
        input < inputs() ? static_cast<DType>(raw_->inputs[input].dtype) : unknown_dtype;
    for (int i = 0; i < outputs(); ++i) {
      const bool has_its_own = raw_->outputs[i].layout != 0;
      raw_->outputs[i].layout = 0;
      if (!has_its_own && shared != unknown_dtype) outputs_group().merge(i, Shape(), shared);
    }
  }

  /// Throws Error (type) unless the condition holds. The reason is joined from its parts, with
  /// shapes printed as [2, ?]; the host adds node, operator and all input types:
  /// io.require(data.rank() == 2, "data is ", data, " but needs two dimensions"). An unknown
  /// dimension is not a contradiction: test it first
  /// (`a == b || a == tenon::unknown || b == tenon::unknown`), or let set_* compare.
  template <class... Reason>
  void require(bool holds, const Reason&... reason) const {
    if (!holds) fail(ErrorKind::type, {reason...});
  }
  /// Throws Error (parameter): io.param_error("axis", "is ", axis, " but data has ", rank, "
  /// dimensions").
  template <class... Reason>
  [[noreturn]] void param_error(detail::OnlyName param, const Reason&... reason) const {
    fail(ErrorKind::parameter, {"parameter '", std::string_view(param), "' ", reason...});
  }

 private:
  // One of the three arrays, with its names.
  struct Group {
    const char* kind;
    tenon_type* types;
    int count;
    const detail::NameGroup* names;

    [[gnu::cold]] tenon_type& entry(Which which) const { return types[index(which)]; }
    [[gnu::cold]] int index(Which which) const {
      const int i = which.in(*names, count);
      if (i >= 0 && i < count) return i;
      if (which.named())
        fail(ErrorKind::failed, {"infer() requests ", kind, " '", which.name(),
                                 "', but describe() names ", names->list()});
      fail(ErrorKind::failed, {"infer() requests ", kind, " ", i, ", but there are ", count, " (",
                               names->list(), ")"});
    }
    [[gnu::cold]] void merge(Which which, const Shape& shape, DType dtype) const {
      const int i = index(which);
      tenon_type& known = types[i];
      merge_shape(known, i, shape);
      if (dtype == unknown_dtype) return;
      if (known.dtype != TENON_DTYPE_UNKNOWN && known.dtype != static_cast<std::uint8_t>(dtype))
        fail(ErrorKind::type, {kind, " '", names->at(i, count), "' is ",
                               static_cast<DType>(known.dtype), " but needs ", dtype});
      known.dtype = static_cast<std::uint8_t>(dtype);
    }
    [[gnu::cold]] void merge_shape(tenon_type& known, int i, const Shape& shape) const {
      if (!shape.has_rank()) return;
      tenon_type merged = known;
      merged.rank = shape.rank();
      bool fits = known.rank < 0 || known.rank == merged.rank;
      for (int axis = 0; axis < merged.rank; ++axis) {
        const std::int64_t dim = shape.begin()[axis];
        if (known.rank < 0 || dim != unknown) merged.dims[axis] = dim;
        fits = fits && (known.rank < 0 || known.dims[axis] == unknown ||
                        known.dims[axis] == merged.dims[axis]);
      }
      if (!fits)
        fail(ErrorKind::type,
             {kind, " '", names->at(i, count), "' is ", read(known).shape, " but needs ", shape});
      known = merged;
    }
  };
  // Merges the shape with that of an input or output; both then have the combined knowledge. Inputs
  // and outputs have distinct names: description_checks.hpp ensures that.
  void merge_named(detail::OnlyName name, Shape& known) {
    const int output = names_->outputs.find(name, outputs());
    if (output >= 0) {
      set_output(output, known);
      known = this->output(output).shape;
    } else {
      set_input(name, known);
      known = input(name).shape;
    }
  }
  Group inputs_group() const { return {"input", raw_->inputs, inputs(), &names_->inputs}; }
  Group outputs_group() const { return {"output", raw_->outputs, outputs(), &names_->outputs}; }
  Group states_group() const {
    return {"state", raw_->states, static_cast<int>(raw_->state_count), &names_->states};
  }

  static TensorType read(const tenon_type& type) {
    return {type.rank < 0 ? Shape() : Shape(type.dims, type.rank), static_cast<DType>(type.dtype)};
  }

  const tenon_infer* raw_;
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

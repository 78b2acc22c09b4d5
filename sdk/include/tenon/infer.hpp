// Inference of shapes and dtypes, as an operator's infer() sees it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "abi.h"
#include "names.hpp"
#include "shape.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// What is known of an operator's inputs, outputs and states, and a place to add to it. infer() may be called with any of it unknown, and
/// several times; it says what it can each time, of inputs as well as of outputs. Whatever it sets is merged with what was known, and a
/// contradiction is an error (type) that shows both. Used by one thread.
class Infer {
 public:
  Infer(const tenon_infer& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}
  const tenon_infer& raw() const { return *raw_; }

  int inputs() const { return static_cast<int>(raw_->input_count); }  ///< optional ones count, connected or not
  int outputs() const { return static_cast<int>(raw_->output_count); }
  bool has_input(int i) const { return i >= 0 && i < inputs() && raw_->inputs[i].present; }
  bool has_input(std::string_view name) const { return has_input(names_->inputs.find(name, inputs())); }  ///< connected

  /// What is known so far; nothing at all for an optional input that is not connected.
  TensorType input(int i) const { return read(inputs_group().entry(i)); }
  TensorType input(std::string_view name) const { return read(inputs_group().entry(name)); }
  TensorType output(int i) const { return read(outputs_group().entry(i)); }
  TensorType output(std::string_view name) const { return read(outputs_group().entry(name)); }
  TensorType state(std::string_view name) const { return read(states_group().entry(name)); }

  /// Adds knowledge; unknown dimensions add none. For an optional input that is not connected it is a wish: a graph then makes a variable
  /// of that type in its place, and an eager call leaves it out.
  void set_input(int i, const Shape& shape, DType dtype = unknown_dtype) { inputs_group().merge(i, shape, dtype); }
  void set_input(std::string_view name, const Shape& shape, DType dtype = unknown_dtype) { inputs_group().merge(name, shape, dtype); }
  /// Without a dtype an output has that of the first input which has no types of its own; one that is known to have another is an error.
  void set_output(int i, const Shape& shape, DType dtype = unknown_dtype) {
    outputs_group().merge(i, shape, dtype);
    if (dtype != unknown_dtype) raw_->outputs[i].reserved = 1;  // until share_dtype()
  }
  void set_output(std::string_view name, const Shape& shape, DType dtype = unknown_dtype) {
    set_output(outputs_group().position(name), shape, dtype);
  }
  void set_state(std::string_view name, const Shape& shape, DType dtype = DType::f32) { states_group().merge(name, shape, dtype); }

  /// Called by the SDK after infer(): outputs that were set without a dtype, or not at all, have that of this input.
  void share_dtype(int input) const {
    const DType shared = input < inputs() ? static_cast<DType>(raw_->inputs[input].dtype) : unknown_dtype;
    for (int i = 0; i < outputs(); ++i) {
      const bool has_its_own = raw_->outputs[i].reserved != 0;
      raw_->outputs[i].reserved = 0;
      if (!has_its_own && shared != unknown_dtype) outputs_group().merge(i, Shape(), shared);
    }
  }

  /// Refuses unless it holds; the reason is joined from its parts, and shapes print as [2, 3].
  template <class... Reason>
  void require(bool holds, const Reason&... reason) const {
    if (!holds) fail(ErrorKind::type, {reason...});
  }
  /// Refuses a parameter: io.param_error("axis", "is ", axis, " but data has ", rank, " dimensions").
  template <class... Reason>
  [[noreturn]] void param_error(std::string_view param, const Reason&... reason) const {
    fail(ErrorKind::parameter, {"parameter '", param, "' ", reason...});
  }

 private:
  // One of the three arrays, with its names.
  struct Group {
    const char* kind;
    tenon_type* types;
    int count;
    const detail::NameGroup* names;

    [[gnu::cold]] tenon_type& entry(int i) const {
      if (i < 0 || i >= count)
        fail(ErrorKind::failed, {"infer() asks for ", kind, " ", i, ", but there are ", count, " (", names->list(), ")"});
      return types[i];
    }
    tenon_type& entry(std::string_view name) const { return types[position(name)]; }
    [[gnu::cold]] int position(std::string_view name) const {
      const int i = names->find(name, count);
      if (i < 0) fail(ErrorKind::failed, {"infer() asks for ", kind, " '", name, "', but describe() names ", names->list()});
      return i;
    }
    void merge(std::string_view name, const Shape& shape, DType dtype) const { merge(position(name), shape, dtype); }
    [[gnu::cold]] void merge(int i, const Shape& shape, DType dtype) const {
      tenon_type& known = entry(i);
      merge_shape(known, i, shape);
      if (dtype == unknown_dtype) return;
      if (known.dtype != TENON_DTYPE_UNKNOWN && known.dtype != static_cast<std::uint8_t>(dtype))
        fail(ErrorKind::type, {kind, " '", names->at(i, count), "' is ", static_cast<DType>(known.dtype), " but needs ", dtype});
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
        fits = fits && (known.rank < 0 || known.dims[axis] == unknown || known.dims[axis] == merged.dims[axis]);
      }
      if (!fits) fail(ErrorKind::type, {kind, " '", names->at(i, count), "' is ", read(known).shape, " but needs ", shape});
      known = merged;
    }
  };
  Group inputs_group() const { return {"input", raw_->inputs, inputs(), &names_->inputs}; }
  Group outputs_group() const { return {"output", raw_->outputs, outputs(), &names_->outputs}; }
  Group states_group() const { return {"state", raw_->states, static_cast<int>(raw_->state_count), &names_->states}; }

  static TensorType read(const tenon_type& type) {
    return {type.rank < 0 ? Shape() : Shape(type.dims, type.rank), static_cast<DType>(type.dtype)};
  }

  const tenon_infer* raw_;
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

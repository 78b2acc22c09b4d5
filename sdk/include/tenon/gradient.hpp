// The gradient of an operator, written as a graph of other operators. Define gradient() or backward(), not both: a graph is shorter and
// can be differentiated again, a kernel may be faster and saves memory.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "list.hpp"
#include "names.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Builds the backward graph of one node from other operators, instead of a backward kernel.
///
///     void gradient(tenon::Gradient& g) const {                     // of y = sin(scale * x)
///       auto dy = g.output_grad(0), x = g.input("x");
///       auto cosine = g.add("cosine", {x}, {{"scale", 1.0}});       // any operator of the catalogue, from any plugin
///       g.set_input_grad("x", g.add("mul", {dy, cosine}));
///     }
///
/// It reads the node's inputs, outputs and output gradients as values, adds nodes that compute with them, and sets the gradient of each
/// input. Nothing is computed here: values have no elements, and their shapes cannot be read. What the added nodes read of the forward pass
/// is kept in memory until they have run: read as little as you can. Inputs without set_input_grad have gradient zero. The nodes are
/// differentiable in turn if their operators are. Parameters are members of the object, as in forward.
///
/// Errors are thrown with the host's reason: an operator that is missing, a parameter that it does not take, types that do not match, an
/// input that is not connected. Threads: this object is used by one; gradient() of one operator object may run on several at once.
class Gradient {
 public:
  /// A tensor of the backward graph, without elements. Copy it freely, and pass it only to the Gradient that returned it. A default
  /// constructed one is empty: add() takes it for an optional input that is left out, and nothing else takes it.
  class Value {
   public:
    Value() = default;

   private:
    friend class Gradient;
    explicit Value(tenon_value id) : id_(id) {}
    tenon_value id_ = TENON_NO_VALUE;  // the host's number of it
  };

  /// A parameter of an added node: {"axis", 1}, {"scale", 0.5}, {"mode", "mean"}, {"keepdims", true}, {"axes", axes} with Ints or Floats.
  /// An enum is given as text, a number as any arithmetic type that fits the parameter. It borrows names, texts and lists: they must live
  /// until add() returns. Parameters that you omit have the operator's defaults.
  class Attr {
   public:
    Attr(const char* name, bool value) : raw_(make(name, TENON_ATTR_BOOL)) { raw_.i = value; }
    template <class Number>
    requires std::is_arithmetic_v<Number> Attr(const char* name, Number value)
        : raw_(make(name, std::is_integral_v<Number> ? TENON_ATTR_INT : TENON_ATTR_FLOAT)) {
      if constexpr (std::is_integral_v<Number>) {
        raw_.i = static_cast<std::int64_t>(value);
      } else {
        raw_.f = static_cast<double>(value);
      }
    }
    Attr(const char* name, const char* text) : Attr(name, std::string_view(text)) {}
    Attr(const char* name, std::string_view text) : raw_(make(name, TENON_ATTR_TEXT, text.size())) { raw_.text = text.data(); }
    Attr(const char* name, const Ints& ints) : raw_(make(name, TENON_ATTR_INTS, ints.size())) { raw_.ints = ints.begin(); }
    Attr(const char* name, const Floats& floats) : raw_(make(name, TENON_ATTR_FLOATS, floats.size())) { raw_.floats = floats.begin(); }

   private:
    friend class Gradient;
    static tenon_attribute make(const char* name, tenon_attribute_kind kind, std::size_t count = 0) {
      tenon_attribute raw{};
      raw.name = name;
      raw.kind = static_cast<std::uint32_t>(kind);
      raw.count = count;
      return raw;
    }
    tenon_attribute raw_;
  };

  Gradient(tenon_gradient& raw, const detail::Names& names) : raw_(&raw), names_(&names) {}

  /// Positions and names are those of describe(); a variadic input takes one position for each of its tensors.
  int inputs() const { return static_cast<int>(raw_->input_count); }
  int outputs() const { return static_cast<int>(raw_->output_count); }
  /// An input of the node, as forward reads it. Error: no such input, or an optional one that is not connected.
  Value input(int i) { return value(TENON_GRADIENT_INPUT, i); }
  /// "data", or "data2" for the third tensor of a variadic input. Error: describe() has no such input.
  Value input(std::string_view name) { return input(find(names_->inputs, name, inputs())); }
  /// An output that forward wrote: often cheaper to keep than the inputs, as for exp and tanh.
  Value output(int i) { return value(TENON_GRADIENT_OUTPUT, i); }
  /// The gradient of the loss by an output. If that output does not reach the loss, this is a tensor of zeros.
  Value output_grad(int i) { return value(TENON_GRADIENT_OUTPUT_GRAD, i); }

  /// Adds a node and returns its first output. Error: the operator is missing; parameters or inputs that it does not accept, weights that
  /// are left out among them; it has no outputs.
  Value add(std::string_view op, std::initializer_list<Value> inputs, std::initializer_list<Attr> attrs = {}) {
    static_assert(sizeof(Value) == sizeof(tenon_value) && sizeof(Attr) == sizeof(tenon_attribute));
    tenon_value added = 0;
    check(raw_->add(raw_, std::string(op).c_str(), reinterpret_cast<const tenon_value*>(inputs.begin()),
                    static_cast<std::uint32_t>(inputs.size()), reinterpret_cast<const tenon_attribute*>(attrs.begin()),
                    static_cast<std::uint32_t>(attrs.size()), &added));
    return Value(added);
  }

  /// Sets the gradient of an input, which must have the input's shape and dtype. Set it once for each input, or not at all for zero. One
  /// value may be the gradient of several inputs: for left + right, set_input_grad(0, dy) and set_input_grad(1, dy).
  void set_input_grad(int i, Value value) { check(raw_->set_input_grad(raw_, static_cast<std::uint32_t>(i), value.id_)); }
  /// The same by the input's name.
  void set_input_grad(std::string_view name, Value value) { set_input_grad(find(names_->inputs, name, inputs()), value); }

 private:
  Value value(tenon_gradient_source source, int i) {
    tenon_value id = 0;
    check(raw_->value(raw_, source, static_cast<std::uint32_t>(i), &id));
    return Value(id);
  }
  static int find(const detail::NameGroup& names, std::string_view name, int total) {
    const int i = names.find(name, total);
    if (i < 0) fail(ErrorKind::failed, {"gradient() asks for input '", name, "', but describe() names ", names.list()});
    return i;
  }
  void check(std::int32_t failed) const {  // the host has written its reason into the error that the caller will read
    if (!failed) return;
    const tenon_error* error = raw_->error;
    if (!error || !error->text) throw Error("the host rejected a step of gradient() without giving a reason");
    throw Error(static_cast<ErrorKind>(error->kind), std::string(error->text));
  }

  tenon_gradient* raw_;  // the host's, valid until gradient() returns
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

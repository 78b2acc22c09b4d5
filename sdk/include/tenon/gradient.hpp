// The gradient of an operator, written as a graph of other operators.
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

/// Builds the backward graph of one node: reads its inputs, outputs and output gradients as values, adds nodes that compute with them, and
/// says which value is the gradient of which input. Inputs that get none have gradient zero. Errors of the host (an operator that is not
/// there, a parameter it does not take) are thrown. Used by one thread.
class Gradient {
 public:
  /// A tensor of the backward graph. Copy it freely; it means something only to the Gradient that gave it.
  class Value {
   public:
    Value() = default;

   private:
    friend class Gradient;
    explicit Value(tenon_value id) : id_(id) {}
    tenon_value id_ = 0;
  };

  /// A parameter of an added node: {"axis", 1}, {"scale", 0.5}, {"mode", "mean"}, {"keepdims", true}, {"axes", axes} with Ints or Floats.
  /// It borrows texts and lists.
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

  int inputs() const { return static_cast<int>(raw_->input_count); }
  int outputs() const { return static_cast<int>(raw_->output_count); }
  Value input(int i) { return value(TENON_GRADIENT_INPUT, i); }
  Value input(std::string_view name) { return input(find(names_->inputs, name, inputs())); }
  Value output(int i) { return value(TENON_GRADIENT_OUTPUT, i); }
  Value output_grad(int i) { return value(TENON_GRADIENT_OUTPUT_GRAD, i); }

  /// Adds a node; its first output.
  Value add(std::string_view op, std::initializer_list<Value> inputs, std::initializer_list<Attr> attrs = {}) {
    static_assert(sizeof(Value) == sizeof(tenon_value) && sizeof(Attr) == sizeof(tenon_attribute));
    tenon_value added = 0;
    check(raw_->add(raw_, std::string(op).c_str(), reinterpret_cast<const tenon_value*>(inputs.begin()),
                    static_cast<std::uint32_t>(inputs.size()), reinterpret_cast<const tenon_attribute*>(attrs.begin()),
                    static_cast<std::uint32_t>(attrs.size()), &added));
    return Value(added);
  }

  void set_input_grad(int i, Value value) { check(raw_->set_input_grad(raw_, static_cast<std::uint32_t>(i), value.id_)); }
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

  tenon_gradient* raw_;
  const detail::Names* names_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

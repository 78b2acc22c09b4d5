// The calls on op.onnx(): how a node of an ONNX file maps to this operator, and back. For
// declarations.hpp.
//
//     op.onnx("", "ReduceSum")
//         .since(13)
//         .input_as("axis", 1)
//         .attribute("keepdims", "keepdims", 1)
//         .only("noop_with_empty_axes", 0);
//     op.onnx("", "ReduceSum")
//         .until(12)
//         .attribute("axes", "axis")
//         .attribute("keepdims", "keepdims", 1);
//     op.onnx("mmdeploy", "grid_sampler")
//         .inputs("data", "grid")
//         .attribute("interpolation_mode", "mode")
//         .value("mode", 0, "bilinear");
//
// A form describes one exact equivalence: a node that it covers must compute the same as this
// operator. An attribute of a node that no call names is never ignored; the form then does not
// apply, and another form or rule of the host may. Parameters that no call sets have their
// defaults. An ONNX integer converts to a bool if it is 0 or 1, and to a list of one if the
// parameter is a list.
//
// The first line above reads: since opset 13, ReduceSum is this operator. Its input 1, whose value
// must be known, is our parameter axis; without it, axis has its default. Its attribute keepdims is
// our keepdims, and 1 if the node lacks it, whereas our default is false. It may have the attribute
// noop_with_empty_axes, but only with the value 0, because we do not support others. Its input 0 is
// our first and only input.
#pragma once
#include <initializer_list>

#include "detail/description.hpp"
#include "detail/literal_value.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The result of op.onnx(); each call applies to the form that was begun last. At most 64 entries
/// in all, not counting since, until and types; each name of inputs() and outputs() and each value
/// of only() counts.
template <bool records>
class OnnxDeclarations {
 public:
  constexpr explicit OnnxDeclarations(Description* description) : description_(description) {}

  /// The first version of the domain for which the form holds (inclusive): for ONNX's own domain an
  /// opset. Default: 1. Example: `op.onnx("", "LeakyRelu").since(6);` Error: it is less than 1 or
  /// more than until().
  constexpr OnnxDeclarations& since(int version) {
    if constexpr (records) entry().since = version;
    return *this;
  }
  /// The last version (inclusive), if the next one moves an attribute, changes a default or changes
  /// the meaning. Default: no end. Example: `op.onnx("", "ReduceSum").until(12);` Error: it is less
  /// than since().
  constexpr OnnxDeclarations& until(int version) {
    if constexpr (records) entry().until = {true, version};
    return *this;
  }
  /// Restricts the form to these dtypes of the inputs that share one: Div of integers is not a
  /// division of floats. Default: op.types(). Example: `op.onnx("", "Div").types(tenon::floating);`
  /// Error, when the plugin is read: op.types() has none of them.
  constexpr OnnxDeclarations& types(Types types) {
    if constexpr (records) entry().types = {true, types};
    return *this;
  }
  /// Maps an ONNX attribute to a parameter. Default: a node without it has the parameter's default.
  /// Example: `op.onnx("", "LeakyRelu").attribute("alpha", "slope");` Error: there is no such
  /// parameter; a form sets an attribute or a parameter twice.
  constexpr OnnxDeclarations& attribute(const char* name, const char* param) {
    return add({.kind = OnnxMappingKind::attribute, .name = name, .param = param});
  }
  /// `absent` is ONNX's default, if it differs from the parameter's. It is a value as a node would
  /// have it: it is also translated by value(). Example:
  /// `op.onnx("", "ReduceSum").attribute("keepdims", "keepdims", 1);`
  constexpr OnnxDeclarations& attribute(const char* name, const char* param,
                                        const LiteralValue& absent) {
    return add(
        {.kind = OnnxMappingKind::attribute, .name = name, .param = param, .has_value = true},
        &absent);
  }
  /// Maps ONNX's value of a parameter, an integer or a text, to ours. If there is a mapping, other
  /// values are rejected, so list all of them. Default: values are equal. Error: there is no such
  /// parameter; when the plugin is read, a value twice or one that the parameter cannot have.
  ///
  ///     op.onnx("mmdeploy", "grid_sampler")
  ///         .attribute("interpolation_mode", "mode")
  ///         .value("mode", 0, "bilinear")
  ///         .value("mode", 1, "nearest");
  constexpr OnnxDeclarations& value(const char* param, const LiteralValue& onnx_value,
                                    const LiteralValue& tenon_value) {
    return add({.kind = OnnxMappingKind::value, .param = param, .has_value = true}, &onnx_value,
               &tenon_value);
  }
  /// ONNX's inputs in its order, by our names of inputs and states; "" is one that we lack, which
  /// must be absent. Inputs of input_as() and halves() are not named and keep their indices.
  /// Default: our inputs. Example: `op.onnx("", "Expand").inputs("x").input_as("shape", 1);` Error:
  /// a name is unknown or twice; a required input is missing.
  template <class... Names>
  constexpr OnnxDeclarations& inputs(Names... names) {
    return (add({.kind = OnnxMappingKind::input, .name = names}), ...);
  }
  /// ONNX's outputs in its order, by our names; "" is one that we lack, which must be absent.
  /// Default: our outputs without hidden ones. Example: `op.onnx("", "MaxPool").outputs("output");`
  /// Error: a name is unknown or twice.
  template <class... Names>
  constexpr OnnxDeclarations& outputs(Names... names) {
    return (add({.kind = OnnxMappingKind::output, .name = names}), ...);
  }
  /// Maps ONNX's input of this index, from 0 to 31, to a parameter; its value must be known.
  /// Default: a node without the input has the parameter's default. Example:
  /// `op.onnx("", "ReduceSum").since(13).input_as("axis", 1);` Error: there is no such parameter;
  /// the index is out of range, twice, or after a variadic input.
  constexpr OnnxDeclarations& input_as(const char* param, int index) {
    return add({.kind = OnnxMappingKind::input_as, .param = param, .index = index});
  }
  /// `absent` is the value of a node without the input, as in attribute(). Example:
  /// `op.onnx("", "Dropout").since(12).input_as("p", 1, 0.5);`
  constexpr OnnxDeclarations& input_as(const char* param, int index, const LiteralValue& absent) {
    return add(
        {.kind = OnnxMappingKind::input_as, .param = param, .index = index, .has_value = true},
        &absent);
  }
  /// Maps a list whose first half is one parameter and whose second half is another, such as ONNX's
  /// pads. With the same parameter twice, both halves must be equal. Default: as for attribute().
  /// Example: `op.onnx("", "Pad").halves("pads", "before", "after");` Error: there is no such
  /// parameter; a form sets an attribute or a parameter twice.
  constexpr OnnxDeclarations& halves(const char* name, const char* first, const char* second) {
    return add({.kind = OnnxMappingKind::halves, .name = name, .param = first, .second = second});
  }
  /// Maps the two halves of an input, whose index is from 0 to 31. Example:
  /// `op.onnx("", "Pad").since(11).halves(1, "before", "after");`
  constexpr OnnxDeclarations& halves(int index, const char* first, const char* second) {
    return add({.kind = OnnxMappingKind::halves, .param = first, .second = second, .index = index});
  }
  /// The parameter has this value in every node of this form; a node with another value is not
  /// exported with it. Default: a parameter that no call sets has its default. Example:
  /// `op.onnx("", "RoiAlign").until(15).constant("half_pixel", false);` Error: there is no such
  /// parameter; the form sets it twice.
  constexpr OnnxDeclarations& constant(const char* param, const LiteralValue& value) {
    return add({.kind = OnnxMappingKind::constant, .param = param}, nullptr, &value);
  }
  /// The parameter has this value if the optional input is absent. Default: it has its default.
  /// Example: `op.onnx("", "Gemm").without("bias", "no_bias", true);` Error: there is no such input
  /// or parameter; when the plugin is read, the input is not optional.
  constexpr OnnxDeclarations& without(const char* input, const char* param,
                                      const LiteralValue& value) {
    return add({.kind = OnnxMappingKind::without, .name = input, .param = param}, nullptr, &value);
  }
  /// An attribute that this operator lacks, with the values for which it has no effect; ONNX's
  /// default must be among them. Default: a node with an attribute that no call names is not of
  /// this form. Example: `op.onnx("", "ReduceSum").only("noop_with_empty_axes", 0);` Error: another
  /// call of the form names the attribute.
  template <class... Values>
  constexpr OnnxDeclarations& only(const char* name, const Values&... values) {
    return (only_one(name, values), ...);
  }
  /// One list, for example of dilations. Repeat the call to accept several lists. Example:
  /// `op.onnx("", "MaxPool").only("dilations", {1, 1});`
  constexpr OnnxDeclarations& only(const char* name, std::initializer_list<std::int64_t> list) {
    return only_one(name, list);
  }
  /// An attribute that does not affect the result. Default: as for only(). Example:
  /// `op.onnx("", "TopK").ignore("sorted");` Error: another call of the form names the attribute.
  constexpr OnnxDeclarations& ignore(const char* name) {
    return add({.kind = OnnxMappingKind::ignore, .name = name});
  }

 private:
  // The form that op.onnx() has just begun.
  constexpr OnnxEntry& entry() { return description_->onnx[description_->onnx.size - 1]; }
  constexpr OnnxDeclarations& only_one(const char* name, const LiteralValue& value) {
    return add({.kind = OnnxMappingKind::only, .name = name, .has_value = true}, &value);
  }
  // Copies literals to the description's pools: their lists end with the statement.
  constexpr OnnxDeclarations& add([[maybe_unused]] OnnxMapping mapping,
                                  [[maybe_unused]] const LiteralValue* onnx_value = nullptr,
                                  [[maybe_unused]] const LiteralValue* tenon_value = nullptr) {
    if constexpr (records) {
      mapping.form = description_->onnx.size - 1;
      if (onnx_value) mapping.onnx_value = stored_literal(*description_, *onnx_value);
      if (tenon_value) mapping.tenon_value = stored_literal(*description_, *tenon_value);
      description_->onnx_mappings.push(mapping);
    }
    return *this;
  }
  Description* description_;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

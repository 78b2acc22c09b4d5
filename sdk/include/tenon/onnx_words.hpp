// The calls on op.onnx(): how a node of an ONNX file maps to this operator, and back. For
// words.hpp.
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
class OnnxWords {
 public:
  constexpr explicit OnnxWords(Description* description) : description_(description) {}

  /// The first version of the domain for which the form holds (inclusive): for ONNX's own domain an
  /// opset. Default: 1.
  constexpr OnnxWords& since(int version) {
    if constexpr (records) entry().since = version;
    return *this;
  }
  /// The last version (inclusive), if the next one moves an attribute, changes a default or changes
  /// the meaning. Default: no end.
  constexpr OnnxWords& until(int version) {
    if constexpr (records) entry().until = {true, version};
    return *this;
  }
  /// Restricts the form to these dtypes of the inputs that share one: Div of integers is not a
  /// division of floats. Default: op.types().
  constexpr OnnxWords& types(Types types) {
    if constexpr (records) entry().types = {true, types};
    return *this;
  }
  /// Maps an ONNX attribute to a parameter. The last argument is ONNX's default, if it differs from
  /// the parameter's.
  constexpr OnnxWords& attribute(const char* name, const char* param) {
    return add({.word = OnnxWord::attribute, .name = name, .param = param});
  }
  /// `absent` is a value as a node would have it: it is also translated by value().
  constexpr OnnxWords& attribute(const char* name, const char* param, const LiteralValue& absent) {
    return add({.word = OnnxWord::attribute, .name = name, .param = param, .has_value = true},
               &absent);
  }
  /// Maps ONNX's value of a parameter, an integer or a text, to ours. If there is a mapping, other
  /// values are rejected, so list all of them; otherwise values are equal.
  constexpr OnnxWords& value(const char* param, const LiteralValue& onnx_value,
                             const LiteralValue& tenon_value) {
    return add({.word = OnnxWord::value, .param = param, .has_value = true}, &onnx_value,
               &tenon_value);
  }
  /// ONNX's inputs and outputs in its order, by our names: inputs and states; "" is one that we
  /// lack, which must be absent. Inputs of input_as() and halves() are not named and keep their
  /// indices. Default: our inputs, and our outputs without hidden ones.
  template <class... Names>
  constexpr OnnxWords& inputs(Names... names) {
    return (add({.word = OnnxWord::input, .name = names}), ...);
  }
  template <class... Names>
  constexpr OnnxWords& outputs(Names... names) {
    return (add({.word = OnnxWord::output, .name = names}), ...);
  }
  /// Maps ONNX's input of this index, from 0 to 31, to a parameter; its value must be known.
  /// `absent` as in attribute().
  constexpr OnnxWords& input_as(const char* param, int index) {
    return add({.word = OnnxWord::input_as, .param = param, .index = index});
  }
  constexpr OnnxWords& input_as(const char* param, int index, const LiteralValue& absent) {
    return add({.word = OnnxWord::input_as, .param = param, .index = index, .has_value = true},
               &absent);
  }
  /// Maps a list whose first half is one parameter and whose second half is another, such as ONNX's
  /// pads: halves("pads", "before", "after"), or halves(1, "before", "after") for an input. With
  /// the same parameter twice, both halves must be equal.
  constexpr OnnxWords& halves(const char* name, const char* first, const char* second) {
    return add({.word = OnnxWord::halves, .name = name, .param = first, .second = second});
  }
  constexpr OnnxWords& halves(int index, const char* first, const char* second) {
    return add({.word = OnnxWord::halves, .param = first, .second = second, .index = index});
  }
  /// The parameter has this value in every node of this form; a node with another value is not
  /// exported with it.
  constexpr OnnxWords& constant(const char* param, const LiteralValue& value) {
    return add({.word = OnnxWord::constant, .param = param}, nullptr, &value);
  }
  /// The parameter has this value if the optional input is absent: without("bias", "no_bias",
  /// true). Otherwise it has its default.
  constexpr OnnxWords& without(const char* input, const char* param, const LiteralValue& value) {
    return add({.word = OnnxWord::without, .name = input, .param = param}, nullptr, &value);
  }
  /// An attribute that this operator lacks, with the values for which it has no effect; ONNX's
  /// default must be among them.
  template <class... Values>
  constexpr OnnxWords& only(const char* name, const Values&... values) {
    return (only_one(name, values), ...);
  }
  /// One list, for example of dilations: only("dilations", {1, 1}). Repeat the call to accept
  /// several lists.
  constexpr OnnxWords& only(const char* name, std::initializer_list<std::int64_t> list) {
    return only_one(name, list);
  }
  /// An attribute that does not affect the result.
  constexpr OnnxWords& ignore(const char* name) {
    return add({.word = OnnxWord::ignore, .name = name});
  }

 private:
  // The form that op.onnx() has just begun.
  constexpr OnnxEntry& entry() { return description_->onnx[description_->onnx.size - 1]; }
  constexpr OnnxWords& only_one(const char* name, const LiteralValue& value) {
    return add({.word = OnnxWord::only, .name = name, .has_value = true}, &value);
  }
  // Copies literals to the description's pools: their lists end with the statement.
  constexpr OnnxWords& add([[maybe_unused]] OnnxMapping mapping,
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

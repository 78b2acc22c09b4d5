// The words behind op.onnx(): how a node of an ONNX file becomes one of this operator, and back. For words.hpp.
//
//     op.onnx("", "ReduceSum").since(13).input_as("axis", 1).attribute("keepdims", "keepdims", 1).only("noop_with_empty_axes", 0);
//     op.onnx("", "ReduceSum").until(12).attribute("axes", "axis").attribute("keepdims", "keepdims", 1);
//     op.onnx("mmdeploy", "grid_sampler").inputs("data", "grid").attribute("interpolation_mode", "mode").value("mode", 0, "bilinear");
//
// One form is one meaning: a node that it covers must compute the same as this operator. An attribute of a node that no word names is never
// passed over; the node is refused then, or another form or rule of the host takes it. Parameters that no word sets have their defaults.
// An ONNX integer becomes a bool where it is 0 or 1, and a list of one where the parameter is a list.
//
// The first line above reads: since opset 13, ReduceSum is this operator. Its input 1, if its value is known, is our `axis`; without it,
// axis has its default. Its attribute keepdims is our keepdims, and 1 if the node lacks it, where our default is false. It may have the
// attribute noop_with_empty_axes, but only with 0, since we have nothing of the kind. Its input 0 is our first and only input.
#pragma once
#include <initializer_list>

#include "description.hpp"
#include "literal_value.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// What op.onnx() returns; each word belongs to the form that was begun last. At most 64 words in all but since, until and types, where
/// each name of inputs() and outputs() and each value of only() counts.
template <bool records>
class OnnxWords {
 public:
  constexpr explicit OnnxWords(Description* description) : description_(description) {}

  /// The versions of the domain, both included, for which the form holds: for ONNX's own domain its opsets. Default: 1, and no end.
  constexpr OnnxWords& since(int version) {
    if constexpr (records) entry().since = version;
    return *this;
  }
  /// The last version: the next one moves an attribute, changes a default or means something else.
  constexpr OnnxWords& until(int version) {
    if constexpr (records) entry().until = {true, version};
    return *this;
  }
  /// Holds only for these dtypes of the inputs that share one: Div of integers is no division of floats. Default: op.types().
  constexpr OnnxWords& types(Types types) {
    if constexpr (records) entry().types = {true, types};
    return *this;
  }
  /// This attribute is that parameter. The last argument is what ONNX says if it is absent, where the parameter's default is another.
  constexpr OnnxWords& attribute(const char* name, const char* param) {
    return add({.word = OnnxWord::attribute, .name = name, .param = param});
  }
  /// `absent` is a value of ONNX's, as a node would have it: it goes through value(), too.
  constexpr OnnxWords& attribute(const char* name, const char* param, const LiteralValue& absent) {
    return add({.word = OnnxWord::attribute, .name = name, .param = param, .given = true}, &absent);
  }
  /// ONNX's value of that parameter, an integer or a text, and ours. With one such word, other values are refused: say all of them.
  /// Without, values are equal.
  constexpr OnnxWords& value(const char* param, const LiteralValue& theirs, const LiteralValue& ours) {
    return add({.word = OnnxWord::value, .param = param, .given = true}, &theirs, &ours);
  }
  /// ONNX's inputs and outputs in its order, by our names: inputs and states; "" is one that we lack, which must be absent. Inputs that
  /// input_as() and halves() take are not named, and keep their places. Default: our inputs, and our outputs without hidden ones.
  template <class... Names>
  constexpr OnnxWords& inputs(Names... names) {
    return (add({.word = OnnxWord::input, .name = names}), ...);
  }
  template <class... Names>
  constexpr OnnxWords& outputs(Names... names) {
    return (add({.word = OnnxWord::output, .name = names}), ...);
  }
  /// ONNX's input of that place, from 0 to 31, is our parameter; its value must be known. With what it is if absent, as attribute().
  constexpr OnnxWords& input_as(const char* param, int index) { return add({.word = OnnxWord::input_as, .param = param, .index = index}); }
  constexpr OnnxWords& input_as(const char* param, int index, const LiteralValue& absent) {
    return add({.word = OnnxWord::input_as, .param = param, .index = index, .given = true}, &absent);
  }
  /// A list of which the first half is one parameter and the second half another, as ONNX's pads: halves("pads", "before", "after"), or
  /// halves(1, "before", "after") of an input. Of the same parameter twice, both must be equal.
  constexpr OnnxWords& halves(const char* name, const char* first, const char* second) {
    return add({.word = OnnxWord::halves, .name = name, .param = first, .second = second});
  }
  constexpr OnnxWords& halves(int index, const char* first, const char* second) {
    return add({.word = OnnxWord::halves, .param = first, .second = second, .index = index});
  }
  /// The parameter has this value in every node of this form; a node that has another is not written by it.
  constexpr OnnxWords& constant(const char* param, const LiteralValue& value) {
    return add({.word = OnnxWord::constant, .param = param}, nullptr, &value);
  }
  /// The parameter has this value where the optional input is absent: without("bias", "no_bias", true). Else its default.
  constexpr OnnxWords& without(const char* input, const char* param, const LiteralValue& value) {
    return add({.word = OnnxWord::without, .name = input, .param = param}, nullptr, &value);
  }
  /// An attribute that this operator lacks, with the values for which that does not matter; ONNX's default must be among them.
  template <class... Values>
  constexpr OnnxWords& only(const char* name, const Values&... values) {
    return (only_one(name, values), ...);
  }
  /// One list, as of dilations: only("dilations", {1, 1}). Said again, either list is taken.
  constexpr OnnxWords& only(const char* name, std::initializer_list<std::int64_t> list) { return only_one(name, list); }
  /// An attribute that has no influence on the result.
  constexpr OnnxWords& ignore(const char* name) { return add({.word = OnnxWord::ignore, .name = name}); }

 private:
  // The form that op.onnx() has just begun.
  constexpr OnnxEntry& entry() { return description_->onnx[description_->onnx.size - 1]; }
  constexpr OnnxWords& only_one(const char* name, const LiteralValue& value) {
    return add({.word = OnnxWord::only, .name = name, .given = true}, &value);
  }
  // Literals move into the description's pools here: their lists end with the statement.
  constexpr OnnxWords& add([[maybe_unused]] OnnxPart part, [[maybe_unused]] const LiteralValue* theirs = nullptr,
                           [[maybe_unused]] const LiteralValue* ours = nullptr) {
    if constexpr (records) {
      part.form = description_->onnx.size - 1;
      if (theirs) part.theirs = stored_literal(*description_, *theirs);
      if (ours) part.ours = stored_literal(*description_, *ours);
      description_->onnx_parts.push(part);
    }
    return *this;
  }
  Description* description_;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

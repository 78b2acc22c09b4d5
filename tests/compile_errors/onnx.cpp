// Forms of ONNX operators.
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Ints axis;
  bool keepdims = false;
  float epsilon = 0;

  static constexpr void describe(auto& op) {
    op.doc("what one line of it gets wrong");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("axis", &Wrong::axis, "axes");
    op.param("keepdims", &Wrong::keepdims, "a switch");
    //! here
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case attribute_twice
// says: a form of onnx(domain, type) uses an attribute, input, output or index twice, or sets a
//   parameter twice
// about: axes
op.onnx("", "ReduceSum").attribute("axes", "axis").ignore("axes");

//! case after_variadic
// says: input_as(param, index) and halves(index, first, second) need an index from 0 to 31, ahead
//   of a variadic input
// about: more
op.input("more", "any number").variadic();
op.onnx("", "ReduceSum").input_as("axis", 2);

//! case leaves_input
// says: a form of onnx(domain, type) omits a non-optional input or a required parameter
// about: x
op.onnx("", "ReduceSum").inputs("");

//! case leaves_parameter
// says: a form of onnx(domain, type) omits a non-optional input or a required parameter
// about: epsilon
op.param("epsilon", &Wrong::epsilon, "a small number").required();
op.onnx("", "ReduceSum").attribute("keepdims", "keepdims");

//! case no_type
// says: onnx(domain, type) needs the type of an ONNX operator
op.onnx("", "");

//! case no_version
// says: a form of onnx(domain, type) has an empty range of versions, or one that overlaps with that
//   of another form of the type
// about: ReduceSum
op.onnx("", "ReduceSum").since(13).until(12);

//! case overlap
// says: a form of onnx(domain, type) has an empty range of versions, or one that overlaps with that
//   of another form of the type
// about: ReduceSum
op.onnx("", "ReduceSum").until(12).attribute("axes", "axis");
op.onnx("", "ReduceSum").since(12).input_as("axis", 1);

//! case parameter_twice
// says: a form of onnx(domain, type) uses an attribute, input, output or index twice, or sets a
//   parameter twice
// about: axis
op.onnx("", "ReduceSum").attribute("axes", "axis").input_as("axis", 1);

//! case index
// says: input_as(param, index) and halves(index, first, second) need an index from 0 to 31, ahead
//   of a variadic input
// about: axis
op.onnx("", "ReduceSum").input_as("axis", 32);

//! case index_twice
// says: a form of onnx(domain, type) uses an attribute, input, output or index twice, or sets a
//   parameter twice
// about: axis
op.onnx("", "ReduceSum").input_as("axis", 1).input_as("keepdims", 1);

//! case unknown_halves
// says: a form of onnx(domain, type) names an input, output, state or parameter that does not exist
// about: after
op.onnx("", "ReduceSum").halves("pads", "axis", "after");

//! case unknown_input
// says: a form of onnx(domain, type) names an input, output, state or parameter that does not exist
// about: data
op.onnx("", "ReduceSum").inputs("data").attribute("axes", "axis");

//! case unknown_output
// says: a form of onnx(domain, type) names an input, output, state or parameter that does not exist
// about: sum
op.onnx("", "ReduceSum").outputs("y", "", "sum");

//! case unknown_param
// says: a form of onnx(domain, type) names an input, output, state or parameter that does not exist
// about: axes
op.onnx("", "ReduceSum").attribute("axes", "axes");

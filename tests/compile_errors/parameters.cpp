// Parameters, rules between them, and what else describe() declares.
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  enum class Pad { same, valid } pad = Pad::same;
  bool flag = false;
  short small = 0;
  unsigned count = 0;
  float a = 0, b = 0, p = 1;
  tenon::Ints kernel = {3}, strides = {1, 0};
  tenon::Text mode = "max";
  tenon::Texts modes = {"mean", "max"};
  tenon::Table<float> taps = {1, 0};

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    //! here
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case same_param
// says: two parameters have the same name
// about: a
op.param("a", &Wrong::a, "one");
op.param("a", &Wrong::b, "another");

//! case short
// says: a parameter must be a bool, int32_t, int64_t, float, double, tenon::Text
// about: here
op.param("small", &Wrong::small, "a small number");  // here

//! case unsigned
// says: a parameter must be a bool, int32_t, int64_t, float, double, tenon::Text
// about: here
op.param("count", &Wrong::count, "a count");  // here

//! case enum_without_choices
// says: an enum parameter needs the names of its values
// about: pad
op.param("pad", &Wrong::pad, "what is beyond the edge");

//! case default_no_choice
// says: is not one of its choices in one_of
// about: pad
op.param("pad", &Wrong::pad, "what is beyond the edge").one_of({{"valid", Wrong::Pad::valid}});

//! case default_text_no_choice
// says: is not one of its choices in one_of
// about: mode
op.param("mode", &Wrong::mode, "how to reduce").one_of({"mean", "sum"});

//! case default_of_texts_no_choice
// says: is not one of its choices in one_of
// about: modes
op.param("modes", &Wrong::modes, "how to reduce").one_of({"mean", "sum"});

//! case default_out_of_range
// says: the default of a parameter is outside its bounds
// about: p
op.param("p", &Wrong::p, "probability").at_least(0).less_than(1);

//! case default_of_list_out_of_range
// says: the default of a parameter is outside its bounds
// about: strides
op.param("strides", &Wrong::strides, "steps").at_least(1);

//! case default_of_table_out_of_range
// says: the default of a parameter is outside its bounds
// about: taps
op.param("taps", &Wrong::taps, "of a filter").greater_than(0);

//! case rule_kinds
// says: cannot compare these parameters
// about: flag
op.param("strides", &Wrong::strides, "steps");
op.param("flag", &Wrong::flag, "a switch");
op.require("strides", tenon::same_length, "flag");

//! case rule_of_texts
// says: cannot compare these parameters
// about: modes
op.param("kernel", &Wrong::kernel, "sizes");
op.param("modes", &Wrong::modes, "their names");
op.require("kernel", tenon::same_length, "modes");

//! case rule_unknown
// says: require(param, relation, other) names a parameter that does not exist
// about: kernels
op.param("kernel", &Wrong::kernel, "sizes");
op.param("strides", &Wrong::strides, "steps");
op.require("strides", tenon::same_length, "kernels");

//! case example_unknown
// says: example(inputs, params) names an input or a parameter
// about: data
op.example({{"data", {2, 3}}});

//! case space_not_a_name
// says: op.space(name) may contain only letters
// about: acme.vision
op.space("acme.vision");

//! case too_many_aliases
// says: describe exceeds the limits of the SDK
op.alias("alias0");
op.alias("alias1");
op.alias("alias2");
op.alias("alias3");
op.alias("alias4");
op.alias("alias5");
op.alias("alias6");
op.alias("alias7");
op.alias("alias8");

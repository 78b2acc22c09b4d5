// History of an operator: inputs, outputs, states and parameters of older versions.
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  float a = 0;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape");
    //! here
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case added_input_needed
// says: needs an input that is .optional()
// about: gain
op.version(3);
op.input("gain", "any shape");
op.added_input(2, "gain");

//! case added_input_too_new
// says: raise op.version
// about: gain
op.version(3);
op.input("gain", "any shape").optional();
op.added_input(4, "gain");

//! case added_input_unknown
// says: added_input(version, input) names an input that does not exist
// about: gain
op.version(3);
op.added_input(2, "gain");

//! case added_not_last
// says: must come after those of older versions
// about: mask
op.version(3);
op.output("mask", "of y").hidden();
op.output("z", "same shape");
op.added_output(2, "mask");

//! case added_output_unknown
// says: added_output(version, output) names an output that does not exist
// about: mask
op.version(3);
op.added_output(2, "mask");

//! case added_state_unknown
// says: added_state(version, state) names a state that does not exist
// about: mean
op.version(3);
op.added_state(2, "mean");

//! case added_unknown
// says: added(version, param) names a parameter that does not exist
// about: axis
op.version(2);
op.added(2, "axis");

//! case added_too_new
// says: raise op.version
// about: a
op.param("a", &Wrong::a, "factor");
op.added(2, "a");

//! case removed_known
// says: removed(version, param) names a parameter that the operator still has
// about: a
op.version(3);
op.param("a", &Wrong::a, "factor");
op.removed(2, "a");

//! case renamed_unknown
// says: ends at a parameter that does not exist
// about: new
op.version(2);
op.renamed(2, "old", "new");

// Inputs, outputs and states.
#include <limits>
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::int64_t n = 1;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    //! here
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case same_input
// says: two inputs or outputs have the same name
// about: x
op.input("x", "any shape");
op.input("x", "any shape");

//! case same_input_and_output
// says: two inputs or outputs have the same name
// about: x
op.input("x", "any shape");
op.output("x", "any shape");

//! case same_state
// says: two states have the same name
// about: mean
op.state("mean", "any shape");
op.state("mean", "any shape");

//! case variadic_not_last
// says: a variadic input must be the last input
// about: many
op.input("many", "any shape").variadic();
op.input("one", "any shape");

//! case input_initial_not_finite
// says: the initial value of an input or a state is infinite or NaN
// about: gamma
op.input("gamma", "any shape").initial(std::numeric_limits<double>::quiet_NaN());

//! case state_initial_not_finite
// says: the initial value of an input or a state is infinite or NaN
// about: mean
op.state("mean", "any shape").initial(std::numeric_limits<double>::infinity());

//! case count_unknown
// says: the count of an output names a member that is not a parameter
// about: parts
op.output("parts", "any shape").count(&Wrong::n);

//! case two_counts
// says: only one output can have a count
op.output("left", "any shape").count(&Wrong::n);
op.output("right", "any shape").count(&Wrong::n);
op.param("n", &Wrong::n, "how many");

//! case count_and_allocated
// says: an operator whose kernel allocates outputs cannot have an output with a count
op.input("x", "any shape");
op.output("found", "[count]").allocated();
op.output("part", "the shape of x").count(&Wrong::n);
op.param("n", &Wrong::n, "how many");

//! case inplace_unknown
// says: inplace(input, output) names an input or output that does not exist
// about: z
op.input("x", "any shape");
op.output("y", "same shape");
op.inplace("x", "z");

//! case channels_last_twice
// says: takes_channels_last and prefers_channels_last must name different inputs and outputs
op.input("data", "[N, C, H, W]");
op.output("output", "the same");
op.takes_channels_last("data");
op.prefers_channels_last("data", "output");

//! case channels_last_unknown
// says: takes_channels_last and prefers_channels_last must name different inputs and outputs
op.input("data", "[N, C, H, W]");
op.output("output", "the same");
op.takes_channels_last("data", "otuput");

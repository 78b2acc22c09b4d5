// Declarations of what the gradient reads, overwrites and assumes.
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::int64_t n = 1;
  bool flag = false;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.input("gain", "same shape");
    op.output("y", "same shape");
    op.param("n", &Wrong::n, "a number");
    op.param("flag", &Wrong::flag, "a switch");
    //! here
  }
  void forward(const tenon::Call&) const {}
  void backward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case inplace_unknown
// says: backward_inplace(output, input) names an output or input
// about: x
op.backward_inplace("x", "y");

//! case reads_unknown
// says: backward_reads names something that is neither an input nor an output
// about: z
op.backward_reads("x", "z");

//! case reads_twice
// says: backward_reads names something twice
// about: x
op.backward_reads("x").when("flag", true);
op.backward_reads("x");

//! case condition_unknown
// says: name a parameter that does not exist
// about: flags
op.backward_reads("x").when("flags", true);

//! case condition_of_too_many_values
// says: 8 conditions of 8 values each
op.backward_reads("x").when("n", 1, 2, 3, 4, 5, 6, 7, 8, 9);

//! case linear_twice
// says: none of them variadic; an input may occur in only one term
op.linear("x", "gain");
op.linear("x");

//! case linear_unknown
// says: linear takes one input, or two different ones, none of them variadic
op.linear("x", "gian");

//! case zero_where_not_elementwise
// says: zero_where requires a class that derives from tenon::Elementwise
op.zero_where("x");

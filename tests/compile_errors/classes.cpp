// Classes that cannot be operators or kernels.
#include <tenon/operator.hpp>

//! case not_an_operator
// says: must derive from tenon::Operator or tenon::Elementwise
struct Wrong {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case no_describe
// says: the class needs: static constexpr void describe(auto& op)
struct Wrong : tenon::Operator {
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case describe_not_static
// says: the class needs: static constexpr void describe(auto& op)
struct Wrong : tenon::Operator {
  constexpr void describe(auto& op) const { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case describe_not_constexpr
// says: describe must run at compile time
struct Wrong : tenon::Operator {
  static void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case no_doc
// says: describe has no doc: add op.doc(...) with one sentence
struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.input("x", "any shape"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case not_literal
// says: must be constructible at compile time
#include <map>
struct Wrong : tenon::Operator {
  std::map<int, float> table;  // constexpr vectors work in g++ 12, maps in no compiler

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case table_of_shorts
// says: the elements of a Table are std::int32_t, std::int64_t, float or double
struct Wrong : tenon::Operator {
  tenon::Table<short> taps;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("taps", &Wrong::taps, "of a filter");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case final
// says: forward must be public
struct Wrong final : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(int) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case composed_state
// says: an operator composed of others, with forward(tenon::Compose&), cannot have states
struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.state("mean", "of x");
  }
  void forward(tenon::Compose& c) const { c.set_output(0, c.input(0)); }
};
TENON_OPERATOR(wrong, Wrong)

//! case kernel_signature
// says: forward must be public
#include <string>
struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
struct WrongKernel : Wrong {
  std::string cache;
  void forward(tenon::Infer&) {}
};
TENON_KERNEL(wrong, cpu, WrongKernel)

//! case kernel_without_functions
// says: needs at least one of forward, forward_sparse, backward and backward_sparse
struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.kernels_elsewhere();
  }
};
struct WrongKernel : Wrong {};
TENON_KERNEL(wrong, cpu, WrongKernel)

// Elementwise classes.
#include <tenon/elementwise.hpp>

struct Wrong : tenon::Elementwise {
  //! here
};
TENON_OPERATOR(wrong, Wrong)

//! case arguments
// says: operator() must be public, const, and take as many arguments of one type as describe() has
//   inputs
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("left", "any shape");
  op.input("right", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case gradient_result
// says: gradient must return T for one input and tenon::Pair<T> for two
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("left", "any shape");
  op.input("right", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T left, T right) const {
  return left + right;
}
template <class T>
TENON_FN T gradient(T dy) const {
  return dy;
}

//! case gradient_signature
// says: gradient must be public, const, and take (T dy), (T dy, tenon::OutputOf<T> y), or (T dy,
//   tenon::InputOf<T> x)
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x * x;
}
template <class T>
TENON_FN T gradient(T dy, T x) const {
  return 2 * x * dy;
}

//! case no_doc
// says: describe has no doc
static constexpr void describe(auto& op) {
  op.input("x", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case no_function
// says: operator() must be public, const, and take as many arguments of one type as describe() has
//   inputs
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape");
  op.output("y", "same shape");
}

//! case no_input
// says: an elementwise operator has 1 to 6 inputs
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case no_template
// says: operator() must be a template
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.types({tenon::f32});
  op.input("x", "any shape");
  op.output("y", "same shape");
}
TENON_FN float operator()(float x) const {
  return x;
}

//! case not_const
// says: operator() must be public, const, and take as many arguments of one type as describe() has
//   inputs
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) {
  return x;
}

//! case only_complex
// says: op.types() names only complex dtypes
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.types(tenon::any_complex);
  op.input("x", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case optional_input
// says: the inputs of an elementwise operator can be neither optional nor variadic
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape").optional();
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case own_types
// says: every input declares its own .types()
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape").types({tenon::f32});
  op.output("y", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case plain_function
// says: Tenon cannot differentiate atan2(x): it supports exp, expm1, log
static constexpr void describe(auto& op) {
  op.doc("does nothing");
  op.input("x", "any shape");
  op.output("y", "same shape as x");
}
template <class T>
TENON_FN T operator()(T x) const {
  return atan2(x, T(1));
}

//! case returns_nothing
// says: operator() returns nothing: it must return the output's element
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape");
  op.output("y", "same shape");
}
template <class T>
TENON_FN void operator()(T) const {}

//! case std_function
// says: Tenon cannot differentiate tgamma(x): it supports exp, expm1, log
static constexpr void describe(auto& op) {
  op.doc("does nothing");
  op.input("x", "any shape");
  op.output("y", "same shape as x");
}
template <class T>
TENON_FN T operator()(T x) const {
  return std::tgamma(x);
}

//! case std_qualified
// says: write exp(x) instead of std::exp(x) in an elementwise class
static constexpr void describe(auto& op) {
  op.doc("does nothing");
  op.input("x", "any shape");
  op.output("y", "same shape as x");
}
template <class T>
TENON_FN T operator()(T x) const {
  return std::exp(x);
}

//! case two_outputs
// says: an elementwise operator has exactly one output
static constexpr void describe(auto& op) {
  op.doc("one sentence");
  op.input("x", "any shape");
  op.output("y", "same shape");
  op.output("z", "same shape");
}
template <class T>
TENON_FN T operator()(T x) const {
  return x;
}

//! case zero_where_unknown
// says: zero_where names something that is not an input
// about: output
static constexpr void describe(auto& op) {
  op.doc("left * right");
  op.input("left", "any shape");
  op.input("right", "any shape");
  op.output("output", "both broadcast");
  op.zero_where("output");
}
template <class T>
TENON_FN T operator()(T left, T right) const {
  return left * right;
}

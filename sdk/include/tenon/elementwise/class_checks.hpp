// Compile-time checks of faults that only elementwise classes can have, each with a one-sentence
// error.
#pragma once

#include <type_traits>

#include "../detail/checks.hpp"
#include "../version.hpp"
#include "job.hpp"
#include "signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

enum class Fault {
  none,
  input_count,
  input_kind,
  outputs,
  no_shared_dtype,
  only_complex,
  arguments,
  result,
  gradient_signature,
  gradient_result,
  duals
};

/// Whether the class gives its gradient as a graph of other operators.
template <class Class>
constexpr bool graph_gradient() {
  if constexpr (detail::names_gradient<Class> &&
                Signature<Class, SomeType<Class>>::rule == Rule::dual) {
    return detail::Members<Class>::gradient;
  } else {
    return false;
  }
}

constexpr Fault input_fault(const detail::Description& d) {
  if (d.inputs.size < 1 || d.inputs.size > max_inputs) return Fault::input_count;
  bool shared = false;
  for (const auto& input : d.inputs) {
    if (input.optional || input.variadic) return Fault::input_kind;
    shared = shared || !input.types.has_value;
  }
  if (d.outputs.size != 1 || d.outputs[0].counted) return Fault::outputs;
  return shared ? Fault::none : Fault::no_shared_dtype;
}

template <class Class>
constexpr Fault gradient_fault() {
  using T = SomeType<Class>;
  using S = Signature<Class, T>;
  if constexpr (S::rule != Rule::dual) {
    using Expected = std::conditional_t<arity<Class> == 1, T, Pair<T>>;
    using Found = decltype(S::some_gradient(std::declval<const Class&>(), T{}));
    return arity<Class> <= 2 && std::is_same_v<Found, Expected> ? Fault::none
                                                                : Fault::gradient_result;
  } else if constexpr (graph_gradient<Class>()) {
    return Fault::none;
  } else if constexpr (detail::names_gradient<Class>) {
    return Fault::gradient_signature;
  } else {
    return S::takes_duals ? Fault::none : Fault::duals;
  }
}

/// Returns the first fault; the description must be valid.
template <class Class>
constexpr Fault class_fault() {
  constexpr Fault inputs = input_fault(detail::description_of<Class>);
  if constexpr (inputs != Fault::none) {
    return inputs;
  } else if constexpr (detail::description_of<Class>.types + any_complex == any_complex) {
    return Fault::only_complex;
  } else if constexpr (!Signature<Class, SomeType<Class>>::callable) {
    return Fault::arguments;
  } else if constexpr (std::is_void_v<Result<Class, SomeType<Class>>>) {
    return Fault::result;
  } else if constexpr (differentiable<Class>) {
    return gradient_fault<Class>();
  } else {
    return Fault::none;
  }
}

/// Fails to compile with exactly one sentence if there is a fault.
template <Fault found>
void report_fault() {
  static_assert(
      found != Fault::input_count,
      "an elementwise operator has 1 to 6 inputs: declare them in describe with op.input");
  static_assert(found != Fault::input_kind,
                "the inputs of an elementwise operator can be neither optional nor variadic");
  static_assert(
      found != Fault::outputs,
      "an elementwise operator has exactly one output: declare it in describe with op.output");
  static_assert(found != Fault::no_shared_dtype,
                "every input declares its own .types(): omit them for the inputs whose dtype the "
                "operator computes in, and declare that "
                "dtype with op.types()");
  static_assert(found != Fault::only_complex,
                "op.types() names only complex dtypes: an elementwise operator needs real ones, "
                "too, such as tenon::floating + "
                "tenon::any_complex; or derive from tenon::Operator");
  static_assert(found != Fault::arguments,
                "operator() must be public, const, and take as many arguments of one type as "
                "describe() has inputs: "
                "template <class T> TENON_FN T operator()(T x) const for one");
  static_assert(found != Fault::result,
                "operator() returns nothing: it must return the output's element");
  static_assert(found != Fault::gradient_signature,
                "gradient must be public, const, and take (T dy), (T dy, tenon::OutputOf<T> y), or "
                "(T dy, tenon::InputOf<T> x) with one "
                "InputOf<T> for each input");
  static_assert(found != Fault::gradient_result,
                "gradient must return T for one input and tenon::Pair<T> for two; with more inputs "
                "omit it, and Tenon differentiates operator()");
  static_assert(found != Fault::duals,
                "operator() must be a template, template <class T> TENON_FN T operator()(T x) "
                "const, so that Tenon can differentiate it by "
                "calling it with dual numbers; or define gradient");
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// Traced numbers record what is computed with them, so that an author's function becomes operations
// that other programs run (tenon_trace in abi.h). Technique: tracing by operator overloading, as in
// automatic differentiation and in JAX.
//
// Traced<T> behaves like T in arithmetic: a float and a double give a double, and a double that is
// stored in a T is rounded to it. Values that do not depend on an input stay plain numbers. A
// comparison gives a Condition; if it decides a branch, the host chooses the path, and runs the
// function again for the other one.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../abi.h"
#include "../../error.hpp"
#include "../../fn.hpp"
#include "../../version.hpp"
#include "math.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

// The operators are in a namespace of their own, so that code with other types does not consider
// them. The functions are found through this base.
struct FoundHere {};
namespace tracing {

/// A value of the host, or a plain number if `in` is null.
struct Scalar {
  double number = 0;
  tenon_trace* in = nullptr;
  tenon_value value = 0;
  std::uint32_t dtype = TENON_DTYPE_UNKNOWN;
};

/// Ends the trace if the host failed, for its reason.
[[gnu::cold]] TENON_FN inline void check(const tenon_trace* in, std::int32_t failed) {
#if !defined(__CUDA_ARCH__)
  if (failed)
    throw Error(static_cast<ErrorKind>(in->error->kind), std::string_view(in->error->text));
#else
  static_cast<void>(in), static_cast<void>(failed);
#endif
}
[[gnu::cold]] TENON_FN inline void refuse(const char* reason) {
#if !defined(__CUDA_ARCH__)
  throw Error(reason);
#else
  static_cast<void>(reason);
#endif
}

[[gnu::cold]] TENON_FN inline tenon_value value_in(tenon_trace* in, const Scalar& x) {
  tenon_value value = x.value;
  if (!x.in) check(in, in->number(in, x.dtype, x.number, &value));
  return value;
}
/// Records an operation with at least one recorded operand.
[[gnu::cold, gnu::noinline]] TENON_FN inline Scalar apply(const char* operation, const Scalar& x,
                                                          const Scalar* y = nullptr,
                                                          const Scalar* z = nullptr) {
  tenon_trace* const in = x.in ? x.in : y->in ? y->in : z->in;
  tenon_value operands[3] = {value_in(in, x)};
  std::uint32_t count = 1;
  if (y) operands[count++] = value_in(in, *y);
  if (z) operands[count++] = value_in(in, *z);
  Scalar result{0, in, 0, z ? z->dtype : x.dtype};
  check(in, in->apply(in, operation, operands, count, &result.value));
  return result;
}
[[gnu::cold, gnu::noinline]] TENON_FN inline Scalar cast(const Scalar& x, std::uint32_t dtype) {
  Scalar result{x.number, x.in, x.value, dtype};
  if (x.in && x.dtype != dtype) check(x.in, x.in->cast(x.in, dtype, x.value, &result.value));
  return result;
}
[[gnu::cold, gnu::noinline]] TENON_FN inline bool decide(const Scalar& x) {
  std::int32_t yes = x.number != 0;
  if (x.in) check(x.in, x.in->decide(x.in, x.value, &yes));
  return yes != 0;
}

/// The result of a comparison. Its conversion to bool is a branch.
struct Condition {
  Scalar scalar;
  TENON_FN explicit constexpr Condition(bool known)
      : scalar{known ? 1.0 : 0.0, nullptr, 0, TENON_BOOLEAN} {}
  TENON_FN explicit constexpr Condition(const Scalar& scalar) : scalar(scalar) {
    this->scalar.dtype = TENON_BOOLEAN;
  }
  TENON_FN operator bool() const { return decide(scalar); }

#define TENON_LOGICAL(symbol, operation)                                                     \
  TENON_FN friend Condition operator symbol(Condition l, Condition r) {                      \
    if (l.scalar.in || r.scalar.in) return Condition(apply(operation, l.scalar, &r.scalar)); \
    return Condition(bool(bool(l.scalar.number != 0) symbol bool(r.scalar.number != 0)));    \
  }
  TENON_LOGICAL(&, "logical_and")
  TENON_LOGICAL(|, "logical_or")
  TENON_LOGICAL(&&, "logical_and")
  TENON_LOGICAL(||, "logical_or")
#undef TENON_LOGICAL
  TENON_FN friend Condition operator!(Condition x) {
    return x.scalar.in ? Condition(apply("logical_not", x.scalar))
                       : Condition(x.scalar.number == 0);
  }
};

template <class T>
struct Traced;
template <class T>
struct NumberOf {
  using type = T;
  static constexpr bool is_traced = false;
};
template <class T>
struct NumberOf<Traced<T>> {
  using type = T;
  static constexpr bool is_traced = true;
};
template <>
struct NumberOf<Condition> {
  using type = bool;
  static constexpr bool is_traced = false;
};

template <class T>
inline constexpr std::uint32_t number_dtype = sizeof(T) == 4   ? TENON_F32
                                              : sizeof(T) == 8 ? TENON_F64
                                                               : TENON_DTYPE_UNKNOWN;

template <class T>
struct Traced : FoundHere {
  Scalar scalar{0, nullptr, 0, number_dtype<T>};

  constexpr Traced() = default;
  /// From a scalar that already has this dtype.
  TENON_FN static constexpr Traced of(const Scalar& scalar) {
    Traced made;
    made.scalar = scalar;
    return made;
  }
  /// A constant. Implicit, so that literals and members mix with traced numbers.
  template <class Constant>
  requires std::is_convertible_v<Constant, T> TENON_FN constexpr Traced(const Constant& constant)
      : scalar{static_cast<double>(static_cast<T>(constant)), nullptr, 0, number_dtype<T>} {}
  /// From another floating type; implicit only to the smaller one, so that
  /// `condition ? x : 0.5 * x` is unambiguous.
  template <class Other>
  requires(!std::is_same_v<Other, T>) TENON_FN
      explicit(sizeof(Other) < sizeof(T)) constexpr Traced(const Traced<Other>& x)
      : scalar{cast(x.scalar, number_dtype<T>)} {
    if (!scalar.in) scalar.number = static_cast<double>(static_cast<T>(x.scalar.number));
  }

  TENON_FN constexpr bool recorded() const { return scalar.in != nullptr; }
  TENON_FN constexpr T number() const { return static_cast<T>(scalar.number); }
  /// A conversion to a plain number ends the trace.
  template <class Number>
  requires std::is_arithmetic_v<Number> TENON_FN explicit constexpr operator Number() const {
    if (recorded()) refuse("it converts a computed value to a plain C++ number");
    return static_cast<Number>(number());
  }

  TENON_FN friend constexpr Traced operator+(Traced x) { return x; }
  TENON_FN friend constexpr Traced operator-(Traced x) {
    return x.recorded() ? of(apply("neg", x.scalar)) : Traced(-x.number());
  }
  template <class Other>
  TENON_FN constexpr Traced& operator+=(const Other& x) {
    return *this = Traced(*this + x);
  }
  template <class Other>
  TENON_FN constexpr Traced& operator-=(const Other& x) {
    return *this = Traced(*this - x);
  }
  template <class Other>
  TENON_FN constexpr Traced& operator*=(const Other& x) {
    return *this = Traced(*this * x);
  }
  template <class Other>
  TENON_FN constexpr Traced& operator/=(const Other& x) {
    return *this = Traced(*this / x);
  }
};

/// The type of l + r if one of them is recorded.
template <class L, class R>
requires(NumberOf<L>::is_traced || NumberOf<R>::is_traced) using Sum =
    Traced<decltype(std::declval<typename NumberOf<L>::type>() +
                    std::declval<typename NumberOf<R>::type>())>;

#define TENON_ARITHMETIC(symbol, operation)                                  \
  template <class L, class R>                                                \
  TENON_FN constexpr Sum<L, R> operator symbol(const L& l, const R& r) {     \
    const Sum<L, R> x(l), y(r);                                              \
    if (!x.recorded() && !y.recorded()) return x.number() symbol y.number(); \
    return Sum<L, R>::of(apply(operation, x.scalar, &y.scalar));             \
  }
TENON_ARITHMETIC(+, "add")
TENON_ARITHMETIC(-, "sub")
TENON_ARITHMETIC(*, "mul")
TENON_ARITHMETIC(/, "div")
#undef TENON_ARITHMETIC

#define TENON_COMPARISON(symbol, operation)                                             \
  template <class L, class R, class T = Sum<L, R>>                                      \
  TENON_FN constexpr Condition operator symbol(const L& l, const R& r) {                \
    const T x(l), y(r);                                                                 \
    if (!x.recorded() && !y.recorded()) return Condition(x.number() symbol y.number()); \
    return Condition(apply(operation, x.scalar, &y.scalar));                            \
  }
TENON_COMPARISON(<, "less")
TENON_COMPARISON(<=, "less_equal")
TENON_COMPARISON(>, "greater")
TENON_COMPARISON(>=, "greater_equal")
TENON_COMPARISON(==, "equal")
TENON_COMPARISON(!=, "not_equal")
#undef TENON_COMPARISON

}  // namespace tracing

using tracing::Condition;
using tracing::Traced;

// Cold, so that the functions that they call are not inlined into them again.
#define TENON_TRACED(name, operation)                                        \
  template <class T>                                                         \
  [[gnu::cold]] TENON_FN Traced<T> name(Traced<T> x) {                       \
    return x.recorded() ? Traced<T>::of(tracing::apply(operation, x.scalar)) \
                        : Traced<T>(name(x.number()));                       \
  }
TENON_TRACED(exp, "exp")
TENON_TRACED(expm1, "expm1")
TENON_TRACED(log, "log")
TENON_TRACED(log1p, "log1p")
TENON_TRACED(sqrt, "sqrt")
TENON_TRACED(sin, "sin")
TENON_TRACED(cos, "cos")
TENON_TRACED(tan, "tan")
TENON_TRACED(sinh, "sinh")
TENON_TRACED(cosh, "cosh")
TENON_TRACED(tanh, "tanh")
TENON_TRACED(asin, "asin")
TENON_TRACED(acos, "acos")
TENON_TRACED(atan, "atan")
TENON_TRACED(asinh, "asinh")
TENON_TRACED(acosh, "acosh")
TENON_TRACED(atanh, "atanh")
TENON_TRACED(erf, "erf")
TENON_TRACED(normal_cdf, "normal_cdf")
TENON_TRACED(floor, "floor")
TENON_TRACED(ceil, "ceil")
TENON_TRACED(rint, "round")
TENON_TRACED(abs, "abs")
#undef TENON_TRACED
#define TENON_TRACED(name, operation)                                                   \
  template <class T>                                                                    \
  [[gnu::cold]] TENON_FN Traced<T> name(Traced<T> x, Traced<T> y) {                     \
    if (!x.recorded() && !y.recorded()) return Traced<T>(name(x.number(), y.number())); \
    return Traced<T>::of(tracing::apply(operation, x.scalar, &y.scalar));               \
  }
TENON_TRACED(min, "minimum")
TENON_TRACED(max, "maximum")
TENON_TRACED(pow, "pow")
#undef TENON_TRACED
template <class T>
TENON_FN Traced<T> where(bool condition, Traced<T> yes, Traced<T> no) {
  return condition ? yes : no;
}
template <class T>
TENON_FN Traced<T> where(Condition condition, Traced<T> yes, Traced<T> no) {
  if (!condition.scalar.in) return where(bool(condition), yes, no);
  return Traced<T>::of(tracing::apply("where", condition.scalar, &yes.scalar, &no.scalar));
}

}  // namespace tenon::TENON_SDK::elementwise

/// The element type of a traced number.
template <class T>
struct std::numeric_limits<::tenon::elementwise::Traced<T>> : std::numeric_limits<T> {};
#pragma GCC visibility pop

// Functions that authors call in elementwise classes but that dual numbers lack, each with one
// sentence instead of the compiler's list of overloads. They are found by an unqualified call and
// by std::tgamma(x) alike, the latter because they are in namespace std, too: only for dual and
// traced numbers, which no standard library knows, and they are never run. Functions that are not
// in the list below, such as std::beta, get the compiler's own error. std::min, std::max,
// std::clamp and std::swap need only comparisons and copies, and work.
#pragma once

#include <cmath>
#include <type_traits>

#include "../../fn.hpp"
#include "../../version.hpp"
#include "dual.hpp"
#include "traced.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class T>
constexpr bool is_dual = false;
template <class T>
constexpr bool is_dual<Dual<T>> = true;
template <class T>
constexpr bool is_dual<Traced<T>> = true;
/// Selects calls with a dual or traced number among their arguments.
template <class... Arguments>
concept HasDual = (is_dual<Arguments> || ...);

/// The apparent result type of such a call, so that it causes no other errors: its first dual
/// argument's type.
template <class...>
struct first_dual {};
template <class First, class... Rest>
struct first_dual<First, Rest...> : first_dual<Rest...> {};
template <class T, class... Rest>
struct first_dual<Dual<T>, Rest...> {
  using type = Dual<T>;
};
template <class T, class... Rest>
struct first_dual<Traced<T>, Rest...> {
  using type = Traced<T>;
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// The sentence belongs to a class, which fails once, however many types the function is called
// with.
#define TENON_SENTENCE(name, sentence)           \
  template <class T>                             \
  struct refused_##name {                        \
    static_assert(!std::is_void_v<T>, sentence); \
  };
#define TENON_REFUSED(name)                                                                       \
  template <class... Arguments>                                                                   \
  requires ::tenon::elementwise::HasDual<Arguments...>                                            \
      TENON_FN typename ::tenon::elementwise::first_dual<Arguments...>::type name(Arguments...) { \
    return (static_cast<void>(sizeof(::tenon::elementwise::refused_##name<                        \
                                     std::conditional_t<sizeof...(Arguments) == 0, int, void>>)), \
            typename ::tenon::elementwise::first_dual<Arguments...>::type());                     \
  }
#define TENON_UNDERIVABLE(name)                                                                   \
  TENON_SENTENCE(name, "Tenon cannot differentiate " #name                                        \
                       "(x): it supports exp, expm1, log, log1p, sqrt, sin, cos, tan, asin, "     \
                       "acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, "                 \
                       "normal_cdf, abs, floor, ceil, rint, pow, min, max and where; use these, " \
                       "or define gradient()")                                                    \
  TENON_REFUSED(name)
#define TENON_QUALIFIED(name)                                      \
  TENON_SENTENCE(name, "write " #name "(x) instead of std::" #name \
                       "(x) in an elementwise class, so that Tenon can differentiate it")
#define TENON_EACH_QUALIFIED(what)                                                                \
  what(exp) what(expm1) what(log) what(log1p) what(sqrt) what(sin) what(cos) what(tan) what(sinh) \
      what(cosh) what(tanh) what(erf) what(abs) what(floor) what(ceil) what(rint) what(pow)       \
          what(asin) what(acos) what(atan) what(asinh) what(acosh) what(atanh)
#define TENON_EACH_UNDERIVABLE(what)                                                             \
  what(atan2) what(cbrt) what(copysign) what(erfc) what(exp2) what(fabs) what(fdim) what(fma)    \
      what(fmax) what(fmin) what(fmod) what(frexp) what(hypot) what(isfinite) what(isinf)        \
          what(isnan) what(ldexp) what(lgamma) what(log10) what(log2) what(modf) what(nearbyint) \
              what(remainder) what(round) what(signbit) what(tgamma) what(trunc)

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {
TENON_EACH_UNDERIVABLE(TENON_UNDERIVABLE)
TENON_EACH_QUALIFIED(TENON_QUALIFIED)
}  // namespace tenon::TENON_SDK::elementwise
namespace std {
TENON_EACH_UNDERIVABLE(TENON_REFUSED)
TENON_EACH_QUALIFIED(TENON_REFUSED)
}  // namespace std
#pragma GCC visibility pop
#undef TENON_EACH_UNDERIVABLE
#undef TENON_EACH_QUALIFIED
#undef TENON_QUALIFIED
#undef TENON_UNDERIVABLE
#undef TENON_REFUSED
#undef TENON_SENTENCE

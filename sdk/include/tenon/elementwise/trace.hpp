// Traces an elementwise class's function into operations of other programs: calls operator() with
// traced numbers.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "../abi.h"
#include "../version.hpp"
#include "class_checks.hpp"
#include "complex.hpp"
#include "signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class Class, class T, std::size_t... I>
constexpr bool records(std::index_sequence<I...>) {
  using R = Traced<T>;
  // A failure is thrown through it.
  if constexpr (requires(const Class& f, R x) { f(Each<R, I>(x)...); })
    return !noexcept(std::declval<const Class&>()(Each<R, I>(std::declval<R>())...));
  else
    return false;
}

/// Whether operator() is compiled for traced numbers. It cannot be detected whether its body
/// compiles, so this follows from its support for dual numbers, or from the author's declaration.
template <class Class>
constexpr bool traceable() {
  constexpr const auto& d = detail::description_of<Class>;
  constexpr bool by_default = differentiable<Class> && rule<Class> == Rule::dual &&
                              !detail::names_gradient<Class> && complex_types<Class>() == Types{};
  if constexpr (!std::is_floating_point_v<SomeType<Class>> ||
                !(d.traced.has_value ? d.traced.value : by_default)) {
    return false;
  } else {
    return records<Class, SomeType<Class>>(
        std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>{});
  }
}

inline void set_result(tenon_trace& io, const tracing::Scalar& scalar) {
  io.result = tracing::value_in(&io, scalar);
}
template <class T>
void set_result(tenon_trace& io, const Traced<T>& result) {
  set_result(io, result.scalar);
}
inline void set_result(tenon_trace& io, const Condition& result) {
  set_result(io, result.scalar);
}
/// A result that is a constant on this path through the function.
template <class Number>
requires std::is_arithmetic_v<Number>
void set_result(tenon_trace& io, Number result) {
  if constexpr (sizeof(Number) == 8 && std::is_integral_v<Number>)
    tracing::refuse("its result is a 64-bit integer");
  else
    set_result(io, tracing::Scalar{static_cast<double>(result), nullptr, 0,
                                   static_cast<std::uint32_t>(dtype_of<Number>)});
}

template <class Class, class T, std::size_t... I>
[[gnu::cold]] void trace(const Class& f, tenon_trace& io, std::index_sequence<I...>) {
  set_result(io, f(Traced<T>::of({0, &io, I, tracing::number_dtype<T>})...));
}

/// Error (type): the class does not compute in io.dtype.
template <class Class>
[[gnu::cold]] void trace(const Class& f, tenon_trace& io) {
  constexpr Types types = detail::description_of<Class>.types;
  constexpr std::make_index_sequence<static_cast<std::size_t>(arity<Class>)> indices{};
  if constexpr (types.has(f16) || types.has(bf16) || types.has(f32))
    if (io.dtype == TENON_F32) return trace<Class, float>(f, io, indices);
  if constexpr (types.has(f64))
    if (io.dtype == TENON_F64) return trace<Class, double>(f, io, indices);
  fail(ErrorKind::type, {"it does not compute in ", static_cast<DType>(io.dtype)});
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

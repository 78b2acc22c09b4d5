// Properties of an elementwise class that follow from its signatures: the types that it computes
// in, its result, and what its derivative reads.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "../describe.hpp"
#include "../version.hpp"
#include "math/functions.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class Class>
inline constexpr int arity = detail::description_of<Class>.inputs.size;

/// The source of the derivative, which determines what backward reads in addition to the output's
/// gradient: an author's gradient() that reads nothing, the output or the inputs; or dual numbers,
/// made from the inputs.
enum class Rule { nothing, output, inputs, dual };

/// T for every index.
template <class T, std::size_t>
using Each = T;

template <class Class, class T,
          class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct Signature;

/// Tests the class's functions for one T.
template <class Class, class T, std::size_t... I>
struct Signature<Class, T, std::index_sequence<I...>> {
  static constexpr bool callable = requires(const Class& f, T x) { f(Each<T, I>(x)...); };
  static constexpr bool takes_duals = requires(const Class& f, Dual<T> x) {
    f(Each<Dual<T>, I>(x)...);
  };

  static constexpr bool reads_nothing = requires(const Class& f, T dy) { f.gradient(dy); };
  static constexpr bool reads_output = requires(const Class& f, T dy, OutputOf<T> y) {
    f.gradient(dy, y);
  };
  static constexpr bool reads_inputs = requires(const Class& f, T dy, InputOf<T> x) {
    f.gradient(dy, Each<InputOf<T>, I>(x)...);
  };
  static constexpr Rule rule = reads_nothing  ? Rule::nothing
                               : reads_output ? Rule::output
                               : reads_inputs ? Rule::inputs
                                              : Rule::dual;

  static auto result(const Class& f, T x) { return f(Each<T, I>(x)...); }

  /// Used only for its type.
  static auto some_gradient(const Class& f, [[maybe_unused]] T x) {
    if constexpr (rule == Rule::nothing) return f.gradient(x);
    if constexpr (rule == Rule::output) return f.gradient(x, OutputOf<T>{x});
    if constexpr (rule == Rule::inputs) return f.gradient(x, Each<InputOf<T>, I>{x}...);
  }
};

/// The type that operator() returns for arguments of T.
template <class Class, class T>
using Result = decltype(Signature<Class, T>::result(std::declval<const Class&>(), T{}));

/// The dtype of the output if the inputs have `dtype`: the same, or that of a fixed type. half and
/// bfloat16 are computed in float, so a float result has the inputs' dtype, unless double also
/// gives a float.
template <class Class, class T>
constexpr DType result_dtype(DType dtype) {
  constexpr bool has_double = detail::description_of<Class>.types.has(DType::f64);
  if constexpr (!std::is_same_v<Result<Class, T>, T>) return dtype_of<Result<Class, T>>;
  if constexpr (std::is_same_v<T, float> && has_double)
    if constexpr (std::is_same_v<Result<Class, double>, float>) return DType::f32;
  return dtype;
}

/// A type in which the class computes, preferably float; for properties that hold for each type.
template <class Class>
constexpr auto some_type() {
  constexpr Types types = detail::description_of<Class>.types;
  if constexpr (types.has(f16) || types.has(bf16) || types.has(f32))
    return float{};
  else if constexpr (types.has(f64))
    return double{};
  else if constexpr (types.has(i64))
    return std::int64_t{};
  else if constexpr (types.has(i32))
    return std::int32_t{};
  else if constexpr (types.has(i16))
    return std::int16_t{};
  else if constexpr (types.has(i8))
    return std::int8_t{};
  else if constexpr (types.has(u64))
    return std::uint64_t{};
  else if constexpr (types.has(u32))
    return std::uint32_t{};
  else if constexpr (types.has(u16))
    return std::uint16_t{};
  else if constexpr (types.has(u8))
    return std::uint8_t{};
  else
    return bool{};
}
template <class Class>
using SomeType = decltype(some_type<Class>());

/// Whether the operator has a derivative: the inputs are floating and the result has the same type.
template <class Class>
inline constexpr bool differentiable = std::is_floating_point_v<SomeType<Class>>&&
    std::is_same_v<Result<Class, SomeType<Class>>, SomeType<Class>>;

template <class Class>
inline constexpr Rule rule = Signature<Class, SomeType<Class>>::rule;

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

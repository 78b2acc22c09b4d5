// The only code that is made for each class: its function, and its derivative by each input, over a block of numbers of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../version.hpp"
#include "accumulate.hpp"
#include "convert.hpp"
#include "job.hpp"
#include "signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// The loops for arguments of T. Sources of the derivative's: what the rule reads, then the output's gradient.
template <class Class, class T, class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct TypedLoops;

template <class Class, class T, std::size_t... I>
struct TypedLoops<Class, T, std::index_sequence<I...>> {
  static void forward(const void* op, const void* const* in, void* out, std::int64_t n) {
    const Class f = *static_cast<const Class*>(op);  // a copy: what is written below cannot change it
    const T* const x[] = {static_cast<const T*>(in[I])...};
    auto* y = static_cast<Result<Class, T>*>(out);
    for_each(n, [=](std::int64_t i) { y[i] = f(x[I][i]...); });
  }

  template <std::size_t input>
  static void derivative(const void* op, const void* const* in, void* out, std::int64_t n) {
    const Class f = *static_cast<const Class*>(op);
    T* dx = static_cast<T*>(out);
    constexpr Rule rule = Signature<Class, T>::rule;
    if constexpr (rule == Rule::nothing) {
      const T* dy = static_cast<const T*>(in[0]);
      for_each(n, [=](std::int64_t i) { dx[i] = part<input>(f.gradient(dy[i])); });
    } else if constexpr (rule == Rule::output) {
      const T *y = static_cast<const T*>(in[0]), *dy = static_cast<const T*>(in[1]);
      for_each(n, [=](std::int64_t i) { dx[i] = part<input>(f.gradient(dy[i], OutputOf<T>{y[i]})); });
    } else {
      const T* const x[] = {static_cast<const T*>(in[I])...};
      const T* dy = static_cast<const T*>(in[sizeof...(I)]);
      for_each(n, [=](std::int64_t i) {
        if constexpr (rule == Rule::inputs) {
          dx[i] = part<input>(f.gradient(dy[i], InputOf<T>{x[I][i]}...));
        } else {
          dx[i] = chain(dy[i], f(Dual<T>(x[I][i], T(I == input))...).slope);
        }
      });
    }
  }

 private:
  template <std::size_t input, class Gradients>
  static T part(const Gradients& gradients) {
    if constexpr (sizeof...(I) == 1) {
      return gradients;
    } else {
      return input == 0 ? gradients.left : gradients.right;
    }
  }
};

/// The same without types, for the generic code.
struct Loops {
  DType compute, result;
  Loop forward;
  Accumulate accumulate_result, accumulate_gradient = nullptr;
  Loop derivatives[max_inputs] = {};
};

template <class Class, class T, std::size_t... I>
constexpr Loops make_loops(std::index_sequence<I...>) {
  using Typed = TypedLoops<Class, T>;
  using R = Result<Class, T>;
  Loops loops{dtype_of<T>, dtype_of<R>, &Typed::forward, &accumulate<R>};
  if constexpr (differentiable<Class> && std::is_floating_point_v<T>) {
    loops.accumulate_gradient = &accumulate<T>;
    ((loops.derivatives[I] = &Typed::template derivative<I>), ...);
  }
  return loops;
}

template <class Class, class T>
[[gnu::visibility("hidden")]] inline constexpr Loops loops =
    make_loops<Class, T>(std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>{});

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

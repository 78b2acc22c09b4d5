// The only code that is compiled for each class: its function, and its derivative with respect to
// each input, over a block of numbers of one type.
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

/// The arguments of `partial` below.
struct Partial {
  const void* op;
  int by;    ///< the input of the first derivative
  int then;  ///< the input of the second derivative; -1: only the first derivative is computed
};

/// Whether the class has a derivative that can be differentiated again.
template <class Class>
constexpr bool twice_differentiable() {
  constexpr const auto& d = detail::description_of<Class>;
  if (!differentiable<Class> || detail::index_of(d.params, "derivative") >= 0) return false;
  return rule<Class> == Rule::dual || rule<Class> == Rule::nothing || d.gradient_of_duals;
}

/// The loops for arguments of type T. Sources of derivatives: what the rule reads, then the
/// output's gradient.
template <class Class, class T,
          class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct TypedLoops;

template <class Class, class T, std::size_t... I>
struct TypedLoops<Class, T, std::index_sequence<I...>> {
  static void forward(const void* op, const void* const* in, void* out, std::int64_t n) {
    const Class f = *static_cast<const Class*>(op);  // a copy, which the stores below cannot alias
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
      for_each(n, [=](std::int64_t i) { dx[i] = component<input>(f.gradient(dy[i])); });
    } else if constexpr (rule == Rule::output) {
      const T *y = static_cast<const T*>(in[0]), *dy = static_cast<const T*>(in[1]);
      for_each(n, [=](std::int64_t i) {
        dx[i] = component<input>(f.gradient(dy[i], OutputOf<T>{y[i]}));
      });
    } else {
      const T* const x[] = {static_cast<const T*>(in[I])...};
      const T* dy = static_cast<const T*>(in[sizeof...(I)]);
      for_each(n, [=](std::int64_t i) {
        if constexpr (rule == Rule::inputs) {
          dx[i] = component<input>(f.gradient(dy[i], InputOf<T>{x[I][i]}...));
        } else {
          dx[i] = chain_rule(dy[i], f(Dual<T>(x[I][i], T(I == input))...).slope);
        }
      });
    }
  }

  /// Computes the derivative with respect to one input, or its derivative with respect to another
  /// one, times the last source. Second derivatives are rare, so this is compiled to be small.
  [[gnu::cold]] static void partial(const void* op, const void* const* in, void* out,
                                    std::int64_t n) {
    const Partial partial = *static_cast<const Partial*>(op);
    const Class f = *static_cast<const Class*>(partial.op);
    for (std::int64_t i = 0; i < n; ++i) {
      const Dual<T> slope = slope_of(f, partial, static_cast<const T*>(in[I])[i]...);
      static_cast<T*>(out)[i] =
          partial.then < 0 ? slope.value
                           : chain_rule(static_cast<const T*>(in[sizeof...(I)])[i], slope.slope);
    }
  }

 private:
  static Dual<T> slope_of(const Class& f, const Partial& partial, Each<T, I>... x) {
    using D = Dual<T>;
    constexpr Rule rule = Signature<Class, T>::rule;
    const auto by_then = [&](T value, int input) { return D(value, T(partial.then == input)); };
    const auto chosen = [&](const auto& gradients) {
      if constexpr (sizeof...(I) == 1) {
        return gradients;
      } else {
        return partial.by == 0 ? gradients.left : gradients.right;
      }
    };
    if constexpr (rule == Rule::nothing) {
      return D(chosen(f.gradient(T(1))));
    } else if constexpr (rule == Rule::inputs) {
      return chosen(f.gradient(D(T(1)), InputOf<D>{by_then(x, I)}...));
    } else if constexpr (rule == Rule::output) {
      const T y = f(x...);
      // The derivative with respect to dy is the author's gradient itself.
      T slope = 0;
      if (partial.then >= 0) {
        const auto gradients = f.gradient(T(1), OutputOf<T>{y});
        if constexpr (sizeof...(I) == 1) {
          slope = gradients;
        } else {
          slope = partial.then == 0 ? gradients.left : gradients.right;
        }
      }
      return chosen(f.gradient(D(T(1)), OutputOf<D>{D(y, slope)}));
    } else {
      return f(Dual<D>(by_then(x, I), D(T(partial.by == I)))...).slope;
    }
  }
  template <std::size_t input, class Gradients>
  static T component(const Gradients& gradients) {
    if constexpr (sizeof...(I) == 1) {
      return gradients;
    } else {
      return input == 0 ? gradients.left : gradients.right;
    }
  }
};

/// Type-erased loops for the generic code.
struct Loops {
  DType compute, result;
  Loop forward;
  Accumulate accumulate_result, accumulate_gradient = nullptr;
  Loop derivatives[max_inputs] = {};
  Loop partial = nullptr;  ///< its op is a Partial
};

template <class Class, class T, std::size_t... I>
constexpr Loops make_loops(std::index_sequence<I...>) {
  using Typed = TypedLoops<Class, T>;
  using R = Result<Class, T>;
  Loops loops{dtype_of<T>, dtype_of<R>, &Typed::forward, &accumulate<R>};
  if constexpr (differentiable<Class> && std::is_floating_point_v<T>) {
    loops.accumulate_gradient = &accumulate<T>;
    ((loops.derivatives[I] = &Typed::template derivative<I>), ...);
    if constexpr (twice_differentiable<Class>()) loops.partial = &Typed::partial;
  }
  return loops;
}

template <class Class, class T>
[[gnu::visibility("hidden")]] inline constexpr Loops loops =
    make_loops<Class, T>(std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>{});

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

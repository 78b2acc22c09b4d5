// Storages of the inputs and outputs of the kernels of elementwise classes: the same on every
// device.
#pragma once

#include <type_traits>

#include "../../detail/members.hpp"
#include "../../version.hpp"
#include "../class_checks.hpp"
#include "../convert.hpp"
#include "../convert_any.hpp"
#include "sparse_gradient.hpp"
#include "sparse_pairs.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// How tensors are read whose dtype differs from the computed one. Only operators that need it
/// include the loops for all dtypes.
template <class Class>
constexpr Convert conversion() {
  constexpr bool own_types = [] {
    for (const auto& input : detail::description_of<Class>.inputs)
      if (input.types.has_value) return true;
    return false;
  }();
  if constexpr (own_types) {
    return convert_any;
  } else {
    return convert_half;
  }
}

/// Whether the derivative is a kernel and not a graph of operators.
template <class Class>
inline constexpr bool has_derivative = differentiable<Class> && !graph_gradient<Class>();

/// Whether that kernel also supports sparse tensors. An author's own infer_storage() applies to
/// forward only.
template <class Class>
inline constexpr bool has_sparse_derivative =
    has_derivative<Class> && !detail::Members<Class>::infer_storage && arity<Class> <= 2 &&
    conversion<Class>() == convert_half && (arity<Class> == 1 || rule<Class> != Rule::output);

template <class Class>
void infer_storage(const Class& f, InferStorage& io) {
  if constexpr (detail::Members<Class>::infer_storage) {
    f.infer_storage(io);
  } else if constexpr (arity<Class> == 1) {
    const bool preserves_zeros = is_zero_of_zeros(f);
    if (!io.backward()) {
      if (preserves_zeros) keep_storage(io);
    } else if constexpr (has_sparse_derivative<Class>) {
      const bool reads_output =
          rule<Class> ==
          Rule::output;  // stored like the input if the function preserves its storage
      choose_gradient_storage(
          io, gradient_rule(f),
          {reads_output && !preserves_zeros ? Storage::dense : io.input(0), Storage::dense});
    }
  } else if (!io.backward()) {
    keep_pair_storage(io, zero_rule(f));
  } else if constexpr (has_sparse_derivative<Class>) {
    choose_gradient_storage(io, gradient_rule(f), {io.input(0), io.input(1)});
  }
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// Where functions are 0, and with it what stays sparse: evaluated exactly, at zeros alone, or declared by the author. Nothing is tried.
#pragma once

#include <type_traits>

#include "../../version.hpp"
#include "../../visit.hpp"
#include "../signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Whether asked<T>() holds for every type T that the class computes in. Floats come first and integers only after them: where a function
/// divides, zeros are nan in floats, and in integers would end the host.
template <class Class, class Asked>
bool holds_in_every_type(Asked asked) {
  constexpr DType floats_first[] = {f32, f16, bf16, f64, i64, i32, i8, u8, boolean};
  for (const DType dtype : floats_first)
    if (detail::description_of<Class>.types.has(dtype) &&
        !visit<detail::description_of<Class>.types>(dtype, [&]<class T>() { return asked.template operator()<Computed<T>>(); }))
      return false;
  return true;
}

/// Whether the author says that the function is 0 wherever this input is.
template <class Class>
constexpr bool zero_where(int input) {
  constexpr const auto& d = detail::description_of<Class>;
  for (const char* name : d.zero_where)
    if (detail::index_of(d.inputs, name) == input) return true;
  return false;
}

/// Whether the function of zeros alone is 0. Where only whole numbers are computed, that is what the author says: a division by 0 would end
/// the host.
template <class Class>
bool is_zero_of_zeros(const Class& f) {
  if constexpr (!std::is_floating_point_v<SomeType<Class>>) return zero_where<Class>(0);
  return holds_in_every_type<Class>([&]<class T>() { return Signature<Class, T>::result(f, T(0)) == Result<Class, T>(0); });
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// Where functions are 0, and with it what stays sparse: evaluated exactly, at zeros alone, or declared by the author. Nothing is tried.
#pragma once

#include <type_traits>

#include "../../version.hpp"
#include "../../visit.hpp"
#include "../complex.hpp"
#include "../signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// The real dtypes of the class. Floats come first and integers only after them: where a function divides, zeros are nan in floats, and in
/// integers would end the host.
struct DTypeOrder {
  DType dtypes[dtype_count];
  int count = 0;
};
template <class Class>
inline constexpr DTypeOrder floats_first = [] {
  DTypeOrder order{};
  for (const DType dtype : {f32, f16, bf16, f64, i64, i32, i16, i8, u64, u32, u16, u8, boolean})
    if (real_types<Class>().has(dtype)) order.dtypes[order.count++] = dtype;
  return order;
}();

/// Whether asked<T>() holds for every type T that the class computes in.
template <class Class, class Asked>
bool holds_in_every_type(Asked asked) {
  for (int i = 0; i < floats_first<Class>.count; ++i)
    if (!visit<real_types<Class>()>(floats_first<Class>.dtypes[i], [&]<class T>() { return asked.template operator()<Computed<T>>(); }))
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

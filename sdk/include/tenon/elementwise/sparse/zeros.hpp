// Where functions are 0, which determines what stays sparse: evaluated exactly, only at zeros, or
// declared by the author.
#pragma once

#include <type_traits>

#include "../../version.hpp"
#include "../../visit.hpp"
#include "../complex.hpp"
#include "../signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// The real dtypes of the class, floats first and integers last: where a function divides, zeros
/// give nan in floats, but an integer division would crash the host.
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
template <class Class, class Test>
bool true_for_all_types(Test test) {
  for (int i = 0; i < floats_first<Class>.count; ++i)
    if (!visit<real_types<Class>()>(floats_first<Class>.dtypes[i], [&]<class T>() {
          return test.template operator()<Computed<T>>();
        }))
      return false;
  return true;
}

/// Whether the author declares that the function is 0 wherever this input is.
template <class Class>
constexpr bool zero_where(int input) {
  constexpr const auto& d = detail::description_of<Class>;
  for (const char* name : d.zero_where)
    if (detail::index_of(d.inputs, name) == input) return true;
  return false;
}

/// Whether the function is 0 if all inputs are. If only integers are computed, the author's
/// declaration counts: an integer division by 0 would crash the host.
template <class Class>
bool is_zero_of_zeros(const Class& f) {
  if constexpr (!std::is_floating_point_v<SomeType<Class>>) return zero_where<Class>(0);
  return true_for_all_types<Class>(
      [&]<class T>() { return Signature<Class, T>::result(f, T(0)) == Result<Class, T>(0); });
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// Maps a dtype at run time to a C++ type at compile time.
#pragma once
#include <utility>

#include "dtype.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Calls `f.template operator()<T>()` with the element type T of dtype and returns its result:
///
///     tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
///       const auto x = call.input<T>(0);
///       const auto y = call.output<T>(0);
///       for (std::int64_t i = 0; i < x.size(); ++i) y[i] = T(2) * x[i];
///     });
///
/// The function takes its type as its only template argument; a generic lambda [&](auto t) does not
/// compile. It is compiled once for each type in `allowed`, so list the dtypes that op.types()
/// declares: tenon::visit<tenon::floating>, or tenon::visit<tenon::Types{tenon::i32, tenon::i64}>.
/// The default is any_type, the dtypes of 0.1; every_type is all with arithmetic, storable all. All
/// calls must return the same type. Error (type): dtype is not in `allowed`, or unknown_dtype.
template <Types allowed = any_type, class F>
decltype(auto) visit(DType dtype, F&& f) {
  const auto with = [&]<class T>(T*) -> decltype(auto) { return f.template operator()<T>(); };
#define TENON_DTYPE(name, number, type, ...) \
  if constexpr (allowed.has(DType::name))    \
    if (dtype == DType::name) return with(static_cast<type*>(nullptr));
  TENON_DTYPES(TENON_DTYPE)
#undef TENON_DTYPE
  fail(ErrorKind::type, {"there is no kernel for ", dtype});
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

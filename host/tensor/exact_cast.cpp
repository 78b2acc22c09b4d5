#include "tensor/exact_cast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/visit.hpp>
#include <type_traits>
#include <utility>

#include "tensor/low_bit_tensor.hpp"
#include "tensor/number_fits.hpp"

namespace tenon {
namespace {

constexpr Types targets = {i32, i64, f32, f64};

// Promotes 16-bit floats to float, and small integers to int.
template <class T>
auto plain(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return +value;
  else
    return static_cast<float>(value);
}

/// Returns whether `to` has exactly the same value.
template <class To, class From>
bool convert(From from, To& to) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    to = static_cast<To>(from);
    return std::in_range<To>(from);
  } else if constexpr (std::is_integral_v<From>) {
    to = number_as<To>(static_cast<double>(from));
    const double back = plain(to);
    return fits<From>(back) && static_cast<From>(back) == from;
  } else if constexpr (std::is_integral_v<To>) {
    if (!fits<To>(from)) return false;
    to = static_cast<To>(from);
    return static_cast<From>(to) == from;
  } else {
    to = number_as<To>(from);
    return std::isnan(from) || plain(to) == from;
  }
}

template <class To, class From>
bool convert_all(const Tensor& from, const Tensor& to) {
  const auto source = from.values<From>();
  const auto target = to.values<To>();
  for (std::size_t i = 0; i < source.size(); ++i)
    if (!convert(plain(source[i]), target[i])) return false;
  return true;
}

}  // namespace

std::optional<Tensor> exact_cast(const Tensor& tensor, DType dtype) {
  if (tensor.storage() != Storage::dense) return {};
  const Tensor from = tensor.to("cpu").make_contiguous();
  if (from.dtype() == dtype) return from.clone();
  if (!any_real.has(from.dtype())) return {};
  auto to = Tensor::empty(dtype, from.shape());
  bool same = false;
  visit<any_real>(from.dtype(), [&]<class From>() {
    visit<targets>(dtype, [&]<class To>() { same = convert_all<To, From>(from, to); });
  });
  return same ? std::optional(to) : std::nullopt;
}

bool widens(DType from, DType to) {
  if (from == to) return true;
  if (low_bit.has(from)) return !low_bit.has(to) && widens(decoded_dtype(from), to);
  if (low_bit.has(to)) return false;
  return visit<every_type>(from, [&]<class From>() {
    return visit<every_type>(to, [&]<class To>() {
      if constexpr (is_complex<From>) return is_complex<To> && sizeof(From) < sizeof(To);
      if constexpr (is_complex<To>)
        return dtype_of<From> == dtype_of<decltype(To(0).re)> ||
               widens(dtype_of<From>, dtype_of<decltype(To(0).re)>);
      if constexpr (sizeof(To) < sizeof(float)) return false;
      if constexpr (!std::is_integral_v<From>)
        return !std::is_integral_v<To> && sizeof(From) < sizeof(To);
      if constexpr (std::is_signed_v<From> && std::is_unsigned_v<To>) return false;
      return std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits;
    });
  });
}

template <class To, class From>
static To widen(From x) {
  if constexpr (is_complex<From> && !is_complex<To>)
    return static_cast<To>(x.re);  // never called: this does not widen
  else
    return static_cast<To>(x);
}

Tensor widened(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) return tensor;
  if (tensor.storage() == Storage::csr)
    return Tensor::csr(widened(tensor.stored_values(), to), tensor.columns(), tensor.row_starts(),
                       tensor.shape());
  if (tensor.storage() == Storage::row_sparse)
    return Tensor::row_sparse(widened(tensor.stored_values(), to), tensor.row_ids(),
                              tensor.shape());
  if (low_bit.has(tensor.dtype())) return widened(decoded(tensor), to);
  const auto here = tensor.to("cpu").make_contiguous();
  auto wide = Tensor::empty(to, tensor.shape());
  visit<every_type>(tensor.dtype(), [&]<class From>() {
    const auto from = here.values<From>();
    visit<every_type>(to, [&]<class To>() {
      std::transform(from.begin(), from.end(), wide.values<To>().begin(), widen<To, From>);
    });
  });
  return wide;
}

}  // namespace tenon

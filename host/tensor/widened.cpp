#include "tensor/widened.hpp"

#include <algorithm>
#include <limits>
#include <tenon/visit.hpp>
#include <type_traits>

namespace tenon {

bool widens(DType from, DType to) {
  if (from == to) return true;
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
static To number_as(From x) {
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
  const auto here = tensor.to("cpu").make_contiguous();
  auto wide = Tensor::empty(to, tensor.shape());
  visit<every_type>(tensor.dtype(), [&]<class From>() {
    const auto from = here.values<From>();
    visit<every_type>(to, [&]<class To>() {
      std::transform(from.begin(), from.end(), wide.values<To>().begin(), number_as<To, From>);
    });
  });
  return wide;
}

}  // namespace tenon

#include "check/element_conversion.hpp"

#include <tenon/visit.hpp>

namespace tenon::checks {
namespace {

// Integers that do not fit wrap around, because the conversion from double would be undefined.
template <class T>
T as_element(double number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return number < 0 ? static_cast<T>(static_cast<std::int64_t>(number))
                      : static_cast<T>(static_cast<std::uint64_t>(number));
  else
    return static_cast<T>(number);
}

Tensor complex_in(const Tensor& tensor, DType dtype) {
  auto result = Tensor::empty(dtype, tensor.shape());
  visit<any_complex>(tensor.dtype(), [&]<class From>() {
    visit<any_complex>(dtype, [&]<class To>() {
      auto* element = result.values<To>().data();
      for (const auto z : tensor.values<From>()) *element++ = static_cast<To>(z);
    });
  });
  return result;
}

std::vector<double> real_parts(const Tensor& tensor) {
  std::vector<double> numbers;
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    for (const auto value : tensor.values<T>()) {
      if constexpr (is_complex<T>)
        numbers.push_back(value.re);
      else
        numbers.push_back(static_cast<double>(value));
    }
  });
  return numbers;
}

}  // namespace

Tensor elements_in(const std::vector<double>& numbers, DType dtype, const Shape& shape) {
  auto tensor = Tensor::empty(dtype, shape);
  visit<every_type>(dtype, [&]<class T>() {
    auto* element = tensor.values<T>().data();
    for (const double number : numbers) *element++ = as_element<T>(number);
  });
  return tensor;
}

Tensor elements_in(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (any_complex.has(tensor.dtype()) && any_complex.has(dtype)) return complex_in(tensor, dtype);
  return elements_in(real_parts(tensor), dtype, tensor.shape());
}

}  // namespace tenon::checks

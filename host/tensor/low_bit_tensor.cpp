#include "tensor/low_bit_tensor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

namespace tenon {
namespace {

constexpr Types numbers_read = {f32, i8};

std::uint8_t* codes_of(const Tensor& tensor) {
  return static_cast<std::uint8_t*>(tensor.data());
}

}  // namespace

DType decoded_dtype(DType dtype) {
  if (!low_bit.has(dtype)) return dtype;
  return low_bit_integers.has(dtype) ? i8 : f32;
}

Tensor decoded(const Tensor& tensor) {
  if (!low_bit.has(tensor.dtype())) return tensor;
  const auto from = tensor.to("cpu").make_contiguous();
  auto made = Tensor::empty(decoded_dtype(from.dtype()), from.shape());
  const auto& format = low_bit_format(from.dtype());
  const auto* code = codes_of(from);
  visit<numbers_read>(made.dtype(), [&]<class T>() {
    for (auto& number : made.values<T>()) number = static_cast<T>(format.decode(*code++));
  });
  return made;
}

bool fits_low_bit(DType dtype, double value) {
  const auto& format = low_bit_format(dtype);
  if (std::isnan(value)) return format.nan != 0;
  const double largest = format.decode(format.max);
  if (format.is_integer()) {
    const auto whole = std::trunc(value);
    return whole <= largest && whole >= (format.is_signed ? -largest - 1 : 0);
  }
  if (!format.is_signed && value < 0) return false;
  if (format.overflow == format.max)  // has neither infinities nor NaN
    return std::abs(value) <= largest;
  const auto rounded = halves::odd_float(value);
  if (std::isinf(value) && std::isinf(format.decode(format.overflow))) return true;
  return format.encode(rounded, true) == format.encode(rounded, false);
}

void encode_elements(const Tensor& numbers, const Tensor& to, bool saturate) {
  const auto& format = low_bit_format(to.dtype());
  auto* code = codes_of(to);
  visit<numbers_read>(numbers.dtype(), [&]<class T>() {
    for (const auto number : numbers.values<T>())
      *code++ = format.encode(static_cast<float>(number), saturate);
  });
}

Tensor encoded(const Tensor& numbers, DType dtype) {
  visit<numbers_read>(numbers.dtype(), [&]<class T>() {
    for (const auto number : numbers.values<T>())
      if (!fits_low_bit(dtype, static_cast<double>(number)))
        throw Failure(FailureKind::usage, fmt::format("{} does not fit into {}",
                                                      static_cast<float>(number), name_of(dtype)));
  });
  auto made = Tensor::empty(dtype, numbers.shape());
  encode_elements(numbers, made, false);  // infinities stay
  return made;
}

}  // namespace tenon

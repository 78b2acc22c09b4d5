#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/visit.hpp>

#include "tensor/dtype_traits.hpp"
#include "tensor/low_bit_tensor.hpp"

namespace tenon {
namespace {

Tensor plain(const Tensor& tensor) {
  const auto here = tensor.to("cpu");
  return (here.storage() == Storage::dense ? here : cast_storage(here, Storage::dense))
      .make_contiguous();
}

std::vector<std::int64_t> coordinates_of(std::size_t element, const Shape& shape) {
  std::vector<std::int64_t> coordinates(static_cast<std::size_t>(shape.rank()));
  auto rest = static_cast<std::int64_t>(element);
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    coordinates[static_cast<std::size_t>(axis)] = rest % shape[axis];
    rest /= shape[axis];
  }
  return coordinates;
}

template <class T>
double magnitude(T number) {
  if constexpr (is_complex<T>)
    return std::hypot(number.re, number.im);
  else
    return std::abs(static_cast<double>(number));
}

template <class T>
double distance(T left, T right) {
  if constexpr (is_complex<T>)
    return magnitude(left - right);
  else
    return std::abs(static_cast<double>(left) - static_cast<double>(right));
}

template <class T>
std::string number_text(T number) {
  if constexpr (is_complex<T>)
    return fmt::format("{:.9g}{:+.9g}i", number.re, number.im);
  else
    return fmt::format("{:.9g}", static_cast<double>(number));
}

/// The difference of two elements and its tolerance.
struct Pair {
  double found, expected;  // magnitudes
  double apart, allowed;
  bool close(bool equal_nan) const {
    if (std::isnan(found) || std::isnan(expected))
      return equal_nan && std::isnan(found) && std::isnan(expected);
    return apart <= allowed && !std::isinf(expected);
  }
  double excess() const {
    return std::isnan(apart - allowed) ? std::numeric_limits<double>::infinity() : apart - allowed;
  }
};

std::string difference_text(const Comparison& difference, std::int64_t size,
                            const std::string& first, const std::string& worst, double allowed) {
  auto text =
      fmt::format("{} of {} elements differ{}: at [{}] {}", difference.different, size,
                  difference.different == 1 ? "s" : "", fmt::join(difference.first, ", "), first);
  if (difference.worst != difference.first)
    text += fmt::format("; the worst at [{}] {}", fmt::join(difference.worst, ", "), worst);
  return text + fmt::format(", where {:.4g} is allowed", allowed);
}

template <class T>
Comparison compared(std::span<const T> found, std::span<const T> expected, const Shape& shape,
                    const CloseOptions& options, double rtol) {
  Comparison result;
  double max_excess = -1, allowed = 0;
  std::string first, worst;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;
    const double expected_size = magnitude(expected[i]);
    const Pair pair{magnitude(found[i]), expected_size, distance(found[i], expected[i]),
                    options.atol + rtol * expected_size};
    if (pair.close(options.equal_nan)) continue;
    const auto text = [&] {
      return number_text(found[i]) + " instead of " + number_text(expected[i]);
    };
    if (result.different++ == 0) result.first = coordinates_of(i, shape), first = text();
    if (pair.excess() > max_excess)
      max_excess = pair.excess(), result.worst = coordinates_of(i, shape), worst = text(),
      allowed = pair.allowed;
  }
  if (result.different > 0)
    result.text =
        difference_text(result, static_cast<std::int64_t>(found.size()), first, worst, allowed);
  return result;
}

}  // namespace

Comparison all_close(const Tensor& found, const Tensor& expected, const CloseOptions& options) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape()) {
    Comparison result;
    result.text = fmt::format("{} {} is compared with {} {}", name_of(found.dtype()),
                              to_string(found.shape()), name_of(expected.dtype()),
                              to_string(expected.shape()));
    return result;
  }
  const auto left = decoded(plain(found)), right = decoded(plain(expected));
  const double rtol =
      options.rtol < 0 ? traits_of(found.dtype()).tolerance.all_close : options.rtol;
  return visit<every_type>(left.dtype(), [&]<class T>() {
    return compared<T>(std::span<const T>(left.values<T>()), std::span<const T>(right.values<T>()),
                       found.shape(), options, rtol);
  });
}

}  // namespace tenon

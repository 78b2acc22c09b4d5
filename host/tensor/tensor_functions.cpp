#include <fmt/format.h>

#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>

#include "io/counted.hpp"
#include "tensor/low_bit_tensor.hpp"
#include "tensor/number_fits.hpp"
#include "tensor/sparse/rows.hpp"

namespace tenon {
namespace {

template <class T>
T element_of(double value) {
  const bool whole = !std::is_integral_v<T> || value == std::trunc(value);
  if (!whole || !fits<T>(value))
    throw Failure(FailureKind::usage,
                  fmt::format("{} does not fit into {}{}", value, name_of(dtype_of<T>),
                              std::is_same_v<T, bool> ? ", which holds 0 and 1" : ""));
  return number_as<T>(value);
}

template <class ValueAt>
Tensor filled_low_bits(DType dtype, const Shape& shape, ValueAt value_at) {
  auto tensor = Tensor::empty(dtype, shape);
  const auto& format = low_bit_format(dtype);
  auto* const codes = static_cast<std::uint8_t*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = value_at(static_cast<std::size_t>(i));
    if (!fits_low_bit(dtype, value) || (format.is_integer() && value != std::trunc(value)))
      throw Failure(FailureKind::usage,
                    fmt::format("{} does not fit into {}", value, name_of(dtype)));
    codes[i] = format.encode(halves::odd_float(value), false);  // infinities stay
  }
  return tensor;
}

template <class ValueAt>
Tensor filled(DType dtype, const Shape& shape, ValueAt value_at) {
  if (low_bit.has(dtype)) return filled_low_bits(dtype, shape, value_at);
  auto tensor = Tensor::empty(dtype, shape);
  visit<every_type>(dtype, [&]<class T>() {
    auto elements = tensor.values<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = element_of<T>(value_at(i));
  });
  return tensor;
}

/// Draws the two components of complex numbers one after the other; the deviation applies to each
/// component.
template <class Draw>
Tensor drawn(DType dtype, const Shape& shape, Draw draw) {
  if (floating.has(dtype)) return filled(dtype, shape, draw);
  if (!any_complex.has(dtype))
    throw Failure(FailureKind::usage,
                  fmt::format("random numbers need a floating-point or complex dtype, not {}",
                              name_of(dtype)));
  auto tensor = Tensor::empty(dtype, shape);
  visit<any_complex>(dtype, [&]<class T>() {
    using Component = decltype(T(0).re);
    auto elements = tensor.values<T>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = T(number_as<Component>(draw(2 * i)), number_as<Component>(draw(2 * i + 1)));
  });
  return tensor;
}

}  // namespace

Tensor full(DType dtype, const Shape& shape, double value) {
  return filled(dtype, shape, [=](std::size_t) { return value; });
}

Tensor ones(DType dtype, const Shape& shape) {
  return full(dtype, shape, 1);
}

Tensor arange(DType dtype, std::int64_t count, double first, double step) {
  return filled(dtype, {count},
                [=](std::size_t i) { return first + step * static_cast<double>(i); });
}

Tensor random_uniform(DType dtype, const Shape& shape, std::uint64_t seed, double low,
                      double high) {
  const Random random(seed, 0, 0);
  return drawn(dtype, shape, [=](std::size_t i) {
    return low + (high - low) * static_cast<double>(random.uniform(i));
  });
}

Tensor random_normal(DType dtype, const Shape& shape, std::uint64_t seed, double mean,
                     double deviation) {
  const Random random(seed, 0, 0);
  return drawn(dtype, shape, [=](std::size_t i) {
    return mean + deviation * static_cast<double>(random.normal(i));
  });
}

Tensor rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  const auto refuse = [](const std::string& what) { throw Failure(FailureKind::usage, what); };
  const auto shape = tensor.shape();
  if (shape.rank() == 0) refuse("a scalar has no rows");
  if (tensor.storage() == Storage::row_sparse)
    refuse(
        "rows of row_sparse tensors cannot be selected; use cast_storage(tensor, Storage::dense)");
  if (tensor.device() != "cpu")
    refuse(
        fmt::format("the tensor is on {}; copy it to the CPU with to(\"cpu\")", tensor.device()));
  if (begin < 0 || begin > end || end > shape[0])
    refuse(fmt::format("the tensor has {}, but rows {} to {} are requested",
                       counted(shape[0], "row"), begin, end));
  return row_range(tensor.make_contiguous(), begin, end);
}

}  // namespace tenon

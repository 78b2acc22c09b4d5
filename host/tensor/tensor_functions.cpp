#include <fmt/format.h>

#include <cmath>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>

#include "io/counted.hpp"
#include "tensor/number_fits.hpp"
#include "tensor/row_range.hpp"

namespace tenon {
namespace {

template <class T>
T element_of(double value) {
  const bool whole = !std::is_integral_v<T> || value == std::trunc(value);
  if (!whole || !fits<T>(value))
    throw Failure(FailureKind::usage, fmt::format("{} does not fit into {}{}", value, name_of(dtype_of<T>),
                                                  std::is_same_v<T, bool> ? ", which holds 0 and 1" : ""));
  return number_as<T>(value);
}

template <class ValueAt>
Tensor made(DType dtype, const Shape& shape, ValueAt value_at) {
  auto tensor = Tensor::empty(dtype, shape);
  visit(dtype, [&]<class T>() {
    auto elements = tensor.values<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = element_of<T>(value_at(i));
  });
  return tensor;
}

void require_floating(DType dtype) {
  if (!floating.has(dtype)) throw Failure(FailureKind::usage, fmt::format("random numbers are floating, and {} is not", name_of(dtype)));
}

double default_tolerance(DType dtype) {
  return dtype == DType::f64 ? 1e-8 : dtype == DType::f32 ? 1e-5 : floating.has(dtype) ? 1e-3 : 0;
}

Tensor plain(const Tensor& tensor) {
  const auto here = tensor.to("cpu");
  return (here.storage() == Storage::dense ? here : cast_storage(here, Storage::dense)).make_contiguous();
}

}  // namespace

Tensor full(DType dtype, const Shape& shape, double value) {
  return made(dtype, shape, [=](std::size_t) { return value; });
}

Tensor ones(DType dtype, const Shape& shape) {
  return full(dtype, shape, 1);
}

Tensor arange(DType dtype, std::int64_t count, double first, double step) {
  return made(dtype, {count}, [=](std::size_t i) { return first + step * static_cast<double>(i); });
}

Tensor random_uniform(DType dtype, const Shape& shape, std::uint64_t seed, double low, double high) {
  require_floating(dtype);
  const Random random(seed, 0, 0);
  return made(dtype, shape, [=](std::size_t i) { return low + (high - low) * static_cast<double>(random.uniform(i)); });
}

Tensor random_normal(DType dtype, const Shape& shape, std::uint64_t seed, double mean, double deviation) {
  require_floating(dtype);
  const Random random(seed, 0, 0);
  return made(dtype, shape, [=](std::size_t i) { return mean + deviation * static_cast<double>(random.normal(i)); });
}

Tensor rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  const auto refuse = [](const std::string& what) { throw Failure(FailureKind::usage, what); };
  const auto shape = tensor.shape();
  if (shape.rank() == 0) refuse("a scalar has no rows");
  if (tensor.storage() == Storage::row_sparse) refuse("rows of row_sparse tensors cannot be taken; cast_storage(tensor, Storage::dense)");
  if (tensor.device() != "cpu")
    refuse(fmt::format("the tensor is on {}; to(\"cpu\") copies it to where its rows can be taken", tensor.device()));
  if (begin < 0 || begin > end || end > shape[0])
    refuse(fmt::format("the tensor has {}, but rows {} to {} are requested", counted(shape[0], "row"), begin, end));
  return row_range(tensor.make_contiguous(), begin, end);
}

bool all_close(const Tensor& left, const Tensor& right, double relative, double absolute) {
  if (left.dtype() != right.dtype() || left.shape() != right.shape()) return false;
  const auto one = plain(left), other = plain(right);
  if (relative < 0) relative = default_tolerance(left.dtype());
  return visit(left.dtype(), [&]<class T>() {
    const auto values = one.values<T>(), expected = other.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == expected[i]) continue;
      const auto value = static_cast<double>(values[i]), wanted = static_cast<double>(expected[i]);
      if (!(std::abs(value - wanted) <= absolute + relative * std::abs(wanted)) || std::isinf(wanted)) return false;
    }
    return true;
  });
}

}  // namespace tenon

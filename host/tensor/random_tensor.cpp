#include <fmt/format.h>

#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>

#include "tensor/low_bit_tensor.hpp"
#include "tensor/number_fits.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse_random(const std::string& what, const std::string& hint) {
  throw Failure(FailureKind::usage, "random_tensor: " + what, hint);
}

struct Interval {
  double low, high;
};

/// The default interval of low-bit dtypes: at most the largest number.
Interval low_bit_interval(DType dtype) {
  if (dtype == f8e8m0fnu) return {0.0625, 16};
  if (low_bit_floats.has(dtype)) return {-1, 1};
  return {0, std::min(10.0, 1.0 + low_bit_format(dtype).max)};
}

Interval interval_of(DType dtype, const RandomOptions& options) {
  const bool real = floating.has(dtype) || any_complex.has(dtype);
  const Interval interval{options.low.value_or(real ? -1 : 0),
                          options.high.value_or(real                      ? 1
                                                : dtype == DType::boolean ? 2
                                                                          : 10)};
  if (!(interval.low < interval.high) || !std::isfinite(interval.high - interval.low))
    refuse_random(fmt::format("numbers in [{}, {}) are requested", interval.low, interval.high),
                  "low must be less than high");
  visit<every_type>(dtype, [&]<class T>() {
    const bool whole = !std::is_integral_v<T> || (interval.low == std::floor(interval.low) &&
                                                  interval.high == std::floor(interval.high));
    const double last = std::is_integral_v<T> ? interval.high - 1 : interval.high;
    if (!whole || !fits<T>(interval.low) || !fits<T>(last))
      refuse_random(fmt::format("{} does not hold the numbers in [{}, {})", name_of(dtype),
                                interval.low, interval.high),
                    "choose low and high for the dtype");
  });
  return interval;
}

/// Chooses elements of [0, count) with equal probability: Knuth's algorithm S.
std::vector<std::int64_t> chosen_of(std::int64_t count, const RandomOptions& options) {
  if (!(options.density >= 0 && options.density <= 1))
    refuse_random(fmt::format("the density is {}", options.density), "it must be between 0 and 1");
  const Random random(options.seed, 1, options.stream);
  auto left = static_cast<std::int64_t>(std::llround(options.density * static_cast<double>(count)));
  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(left));
  for (std::int64_t i = 0; left > 0; ++i) {
    if (static_cast<double>(random.uniform(static_cast<std::uint64_t>(i))) *
            static_cast<double>(count - i) >=
        static_cast<double>(left))
      continue;
    chosen.push_back(i);
    --left;
  }
  return chosen;
}

Tensor random_elements(DType dtype, const Shape& shape, const RandomOptions& options) {
  const auto [low, high] = interval_of(dtype, options);
  const Random random(options.seed, 0, options.stream);
  auto tensor = Tensor::empty(dtype, shape);
  visit<every_type>(dtype, [&, low = low, high = high]<class T>() {
    auto values = tensor.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T>)
        values[i] =
            static_cast<T>(low + std::fmod(static_cast<double>(random.bits(i)), high - low));
      else if constexpr (is_complex<T>)
        values[i] = T(number_as<decltype(T(0).re)>(
                          low + (high - low) * static_cast<double>(random.uniform(2 * i))),
                      number_as<decltype(T(0).re)>(
                          low + (high - low) * static_cast<double>(random.uniform(2 * i + 1))));
      else
        values[i] = number_as<T>(low + (high - low) * static_cast<double>(random.uniform(i)));
    }
  });
  return tensor;
}

Tensor random_dense(DType dtype, const Shape& shape, const RandomOptions& options) {
  if (low_bit.has(dtype)) {
    auto numbers = options;
    const auto usual = low_bit_interval(dtype);
    numbers.low = options.low.value_or(usual.low);
    numbers.high = options.high.value_or(usual.high);
    return encoded(random_dense(decoded_dtype(dtype), shape, numbers), dtype);
  }
  auto elements = random_elements(dtype, shape, options);
  if (options.density == 1) return elements;
  auto tensor = Tensor::zeros(dtype, shape);
  visit<every_type>(dtype, [&]<class T>() {
    for (const auto i : chosen_of(shape.size(), options))
      tensor.values<T>()[static_cast<std::size_t>(i)] =
          elements.values<T>()[static_cast<std::size_t>(i)];
  });
  return tensor;
}

Tensor random_csr(DType dtype, const Shape& shape, const RandomOptions& options) {
  if (shape.rank() != 2)
    refuse_random(fmt::format("a csr tensor of shape {} is requested", to_string(shape)),
                  "csr tensors have two dimensions");
  auto columns = chosen_of(shape.size(), options);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(shape[0]) + 1);
  for (auto& index : columns) {
    ++starts[static_cast<std::size_t>(index / shape[1]) + 1];
    index %= shape[1];
  }
  for (std::size_t row = 1; row < starts.size(); ++row) starts[row] += starts[row - 1];
  const auto stored = static_cast<std::int64_t>(columns.size());
  return Tensor::csr(random_elements(dtype, {stored}, options), Tensor::from(columns, {stored}),
                     Tensor::from(starts, {shape[0] + 1}), shape);
}

Tensor random_rows(DType dtype, const Shape& shape, const RandomOptions& options) {
  if (shape.rank() == 0)
    refuse_random("a row_sparse scalar is requested", "row_sparse tensors have rows");
  const auto rows = chosen_of(shape[0], options);
  auto stored = shape;
  stored.set(0, static_cast<std::int64_t>(rows.size()));
  return Tensor::row_sparse(random_elements(dtype, stored, options),
                            Tensor::from(rows, {stored[0]}), shape);
}

}  // namespace

Tensor random_tensor(DType dtype, const Shape& shape, const RandomOptions& options) {
  if (options.storage == Storage::csr) return random_csr(dtype, shape, options);
  return options.storage == Storage::row_sparse ? random_rows(dtype, shape, options)
                                                : random_dense(dtype, shape, options);
}

}  // namespace tenon

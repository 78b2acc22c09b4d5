#include "cli/check/mixed_numbers.hpp"

#include <random>
#include <tenon/visit.hpp>

#include "cli/check/trial.hpp"

namespace tenon::cli {
namespace {

float ordinary_number(std::mt19937_64& generator) {
  const auto kind = generator() % 8, size = generator() % 64 + 1;
  const float sign = generator() % 2 == 0 ? 1.0F : -1.0F;
  if (kind == 0) return sign * 0.0F;
  if (kind == 1) return sign;
  if (kind == 2) return sign * static_cast<float>(size / 4);
  return sign * static_cast<float>(size) / 4;
}

}  // namespace

void fill_with_mixed_numbers(const Tensor& tensor, Magnitude magnitude, std::uint64_t seed) {
  const auto values = tensor.stored_values();
  if (magnitude == Magnitude::positive) return fill_with_numbers(values, seed);
  const float scale = magnitude == Magnitude::large ? 1024.0F : magnitude == Magnitude::small ? 1 / 1024.0F : 1.0F;
  std::mt19937_64 generator(seed);
  visit(values.dtype(), [&]<class T>() {
    for (auto& value : values.values<T>()) {
      const float number = ordinary_number(generator);
      if constexpr (std::is_same_v<T, bool>)
        value = number > 0;
      else if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(std::is_unsigned_v<T> && number < 0 ? -number : number);
      else
        value = static_cast<T>(scale * number);
    }
  });
}

}  // namespace tenon::cli

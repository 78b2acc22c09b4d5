// Numbers of both signs and several magnitudes, among them whole ones and those at which functions bend: 0, -0, 1, -1.
#pragma once
#include <tenon/tensor.hpp>

namespace tenon::cli {

enum class Magnitude : std::uint8_t {
  positive,  ///< as fill_with_numbers() has them: (0.1, 0.9)
  ordinary,  ///< quarters from -16 to 16
  large,     ///< 1024 times those
  small      ///< a 1024th of those
};

/// Fills the stored values. Integers are whole numbers from -16 to 16, or from 0, whatever the magnitude.
void fill_with_mixed_numbers(const Tensor& tensor, Magnitude magnitude, std::uint64_t seed);

}  // namespace tenon::cli

#include "tensor/finite.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <tenon/half.hpp>
#include <tenon/visit.hpp>
#include <vector>

using namespace tenon;

TEST_CASE("the first number that is not finite is found, whatever stands around it") {
  for (const auto dtype : {f16, bf16, f32, f64})
    visit<floating>(dtype, [&]<class T>() {
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const Wide infinity = std::numeric_limits<Wide>::infinity(), nan = std::numeric_limits<Wide>::quiet_NaN();
      const Wide largest = dtype == f16 ? 65504 : dtype == bf16 ? static_cast<Wide>(0x1.fep127) : std::numeric_limits<Wide>::max();
      std::vector<T> numbers(3000, T(Wide(1)));
      for (const Wide fine : {largest, -largest, Wide(0), Wide(-0.0), std::numeric_limits<Wide>::denorm_min()}) numbers[7] = T(fine);
      CHECK(first_non_finite(dtype, numbers.data(), 3000) == -1);
      for (const Wide wrong : {infinity, -infinity, nan, -nan})
        for (const std::int64_t place : {0, 7, 1023, 1024, 2999}) {
          auto spoilt = numbers;
          spoilt[static_cast<std::size_t>(place)] = T(wrong);
          spoilt.back() = T(nan);
          CHECK(first_non_finite(dtype, spoilt.data(), 3000) == place);
          CHECK(first_non_finite(dtype, spoilt.data(), place) == -1);
        }
    });
  const std::vector<std::int32_t> whole(4, -1);
  CHECK(first_non_finite(i32, whole.data(), 4) == -1);
}

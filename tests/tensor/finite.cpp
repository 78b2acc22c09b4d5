#include "tensor/finite.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <tenon/half.hpp>
#include <tenon/visit.hpp>
#include <vector>

using namespace tenon;

TEST_CASE("finite: finds the first non-finite number, whatever surrounds it") {
  for (const auto dtype : {f16, bf16, f32, f64})
    visit<floating>(dtype, [&]<class T>() {
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const Wide infinity = std::numeric_limits<Wide>::infinity(),
                 nan = std::numeric_limits<Wide>::quiet_NaN();
      const Wide largest = dtype == f16    ? 65504
                           : dtype == bf16 ? static_cast<Wide>(0x1.fep127)
                                           : std::numeric_limits<Wide>::max();
      std::vector<T> numbers(3000, T(Wide(1)));
      for (const Wide fine :
           {largest, -largest, Wide(0), Wide(-0.0), std::numeric_limits<Wide>::denorm_min()})
        numbers[7] = T(fine);
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

TEST_CASE("finite: finds the first tensor with a non-finite number, on any number of threads") {
  const auto with = [](std::int64_t size, std::int64_t place) {
    auto made = Tensor::zeros(f32, {size});
    if (place >= 0)
      made.values<float>()[static_cast<std::size_t>(place)] =
          std::numeric_limits<float>::infinity();
    return made;
  };
  for (const int count : {1, 3}) {
    const Threads threads(count);
    const auto found = [&](const std::vector<Tensor>& tensors) {
      return first_non_finite(tensors, threads);
    };
    CHECK(found({}) == -1);
    CHECK(found({with(0, -1), with(200000, -1), with(3, -1)}) == -1);
    for (const std::int64_t place : {0, 65535, 65536, 199999}) {
      CHECK(found({with(200000, -1), with(200000, place), with(5, 4)}) == 1);
      CHECK(found({with(1, 0), with(200000, place)}) == 0);
    }
    CHECK(found({with(0, -1), with(200000, -1), with(3, 2)}) == 2);
  }
}

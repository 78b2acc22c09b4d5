#include "tensor/finite.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <tenon/visit.hpp>

#include "device/devices.hpp"

using namespace tenon;

namespace {

// Ones, and one other number.
Tensor with(DType dtype, std::int64_t size, std::int64_t place, double number) {
  Tensor tensor = Tensor::empty(dtype, {size});
  visit(dtype, [&]<class T>() {
    auto values = tensor.values<T>();
    for (auto& value : values) value = static_cast<T>(1.0F);
    if (place >= 0)
      values[static_cast<std::size_t>(place)] = static_cast<T>(static_cast<float>(number));
  });
  return tensor;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("the first NaN or infinity is found on the device, in the first tensor that has one") {
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  const auto there = [](const Tensor& tensor) { return tensor.to("cuda"); };
  for (const DType dtype : {f16, bf16, f32, f64}) {
    CAPTURE(name_of(dtype));
    const Tensor fine = with(dtype, 1000, 3, 2), last = with(dtype, 1000, 999, nan),
                 first = with(dtype, 1, 0, -infinity), empty = Tensor::empty(dtype, {0}),
                 whole = with(i32, 5, 2, 7);
    const struct {
      std::vector<Tensor> tensors;
      std::int64_t found;
    } cases[] = {
        {{}, -1},
        {{fine, there(fine), there(empty), there(whole)}, -1},
        {{there(fine), there(last), first}, 1},
        {{fine, there(fine), first, there(first)}, 2},
        {{there(first)}, 0},
    };
    for (const auto& test : cases) CHECK(first_non_finite(test.tensors, Threads(2)) == test.found);
  }
  if (devices().size() > 2) {
    const auto tensor = with(f32, 10, 9, nan);
    CHECK(first_non_finite(std::vector{with(f32, 10, -1, 0).to("cuda:0"), tensor.to("cuda:1")},
                           Threads(2)) == 1);
  }
}

TEST_SUITE_END();

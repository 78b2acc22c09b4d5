// Integer division, remainders, bitwise operators, and logic. Oracles: numpy 2, and ONNX where
// numpy is undefined.
#include <limits>

#include "numbers.hpp"

using namespace plugin_tests;

namespace {

template <class T>
std::vector<T> values(const std::string& op, const std::vector<T>& left,
                      const std::vector<T>& right, const Attributes& attributes = {}) {
  const Shape shape{static_cast<std::int64_t>(left.size())};
  const Tensor y =
      host().call(op, {Tensor::from<T>(left, shape), Tensor::from<T>(right, shape)}, attributes);
  CHECK(y.dtype() == tenon::dtype_of<T>);
  return {y.values<T>().begin(), y.values<T>().end()};
}

template <class T>
void check_division() {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max(),
              minus = static_cast<T>(-1);
  using Values = std::vector<T>;
  CHECK(values<T>("int_divide", {7, 9, 0, high, low, 5}, {2, 3, 4, 1, 1, 0}) ==
        Values{3, 3, 0, high, low, 0});
  CHECK(values<T>("mod", {7, 9, 0, high, low, 5}, {2, 3, 4, 1, 1, 0}) == Values{1, 0, 0, 0, 0, 0});
  if constexpr (std::is_signed_v<T>) {
    CHECK(values<T>("int_divide", {-7, 7, -7, low}, {2, -2, -2, minus}) == Values{-3, -3, 3, low});
    CHECK(values<T>("mod", {-7, 7, -7, low, low, -7}, {2, -2, -2, minus, 0, low}) ==
          Values{1, -1, -1, 0, 0, -7});
    CHECK(values<T>("mod", {-7, 7, -7, low}, {2, -2, -2, minus}, {{"fmod", true}}) ==
          Values{-1, 1, -1, 0});
  }
}

template <class T>
void check_bits() {
  using Values = std::vector<T>;
  constexpr T bits = 8 * sizeof(T), top = static_cast<T>(T(1) << (bits - 2));
  CHECK(values<T>("bitwise_and", {12, 10}, {10, 1}) == Values{8, 0});
  CHECK(values<T>("bitwise_or", {12, 10}, {10, 1}) == Values{14, 11});
  CHECK(values<T>("bitwise_xor", {12, 10}, {10, 1}) == Values{6, 11});
  CHECK(values<T>("bit_shift", {3, 1, 1, 5}, {2, T(bits - 2), bits, 0}, {{"direction", "left"}}) ==
        Values{12, top, 0, 5});
  CHECK(values<T>("bit_shift", {13, top, 64, 5}, {2, T(bits - 2), bits, 0},
                  {{"direction", "right"}}) == Values{3, 1, 0, 5});
  if constexpr (std::is_signed_v<T>) {
    CHECK(values<T>("bit_shift", {-13, -13, 13, -1}, {2, -1, -1, T(bits + 3)},
                    {{"direction", "right"}}) == Values{-4, -1, 0, -1});
    CHECK(values<T>("bit_shift", {-3, -3}, {2, -1}, {{"direction", "left"}}) == Values{-12, 0});
  }
  const Tensor y = host().call("bitwise_not", {Tensor::from<T>({0, 5}, {2})});
  CHECK(y.values<T>()[0] == static_cast<T>(~T(0)));
  CHECK(y.values<T>()[1] == static_cast<T>(~T(5)));
}

}  // namespace

TEST_CASE("integer division truncates, remainders have the divisor's sign; by 0 both are 0") {
  check_division<std::int8_t>();
  check_division<std::uint8_t>();
  check_division<std::int32_t>();
  check_division<std::int64_t>();
  check_division<std::uint64_t>();
}

TEST_CASE("remainders of floating-point numbers, with their zeros and infinities") {
  const auto left = tensor(tenon::f32, {7}, {-4.5, 4.5, 0.0, -0.0, 5, inf, 3}),
             right = tensor(tenon::f32, {7}, {3, -3, -2, 2, -inf, 2, 0});
  const auto found = host().call("mod", {left, right});
  check_near(found, tenon::f32, {7}, {1.5, -1.5, 0, 0, -inf, nan_value, nan_value}, 0);
  CHECK(std::signbit(found.data<float>()[2]));
  CHECK_FALSE(std::signbit(found.data<float>()[3]));
  check_near(host().call("mod", {left, right}, {{"fmod", true}}), tenon::f32, {7},
             {-1.5, 1.5, 0, 0, 5, nan_value, nan_value}, 0);
}

TEST_CASE("bitwise operators of integers") {
  check_bits<std::int8_t>();
  check_bits<std::uint16_t>();
  check_bits<std::int32_t>();
  check_bits<std::uint64_t>();
}

TEST_CASE("bit_cast keeps the bits, and needs a dtype of the same size") {
  const auto bits =
      host().call("bit_cast", {tensor(tenon::f32, {3}, {1, -2, 0})}, {{"dtype", "int32"}});
  check_near(bits, tenon::i32, {3}, {1065353216.0, -1073741824.0, 0}, 0);
  check_near(host().call("bit_cast", {bits}, {{"dtype", "float32"}}), tenon::f32, {3}, {1, -2, 0},
             0);
  check_near(host().call("bit_cast", {tensor(tenon::u8, {3}, {0, 1, 2})}, {{"dtype", "bool"}}),
             tenon::boolean, {3}, {0, 1, 1}, 0);
  check_says(failure("bit_cast", {bits}, {{"dtype", "int64"}}), {"int32", "32", "int64", "64"});
}

TEST_CASE("logic") {
  const auto left = tensor(tenon::boolean, {2, 1}, {0, 1}),
             right = tensor(tenon::boolean, {2}, {0, 1});
  check_near(host().call("logical_and", {left, right}), tenon::boolean, {2, 2}, {0, 0, 0, 1}, 0);
  check_near(host().call("logical_or", {left, right}), tenon::boolean, {2, 2}, {0, 1, 1, 1}, 0);
  check_near(host().call("logical_xor", {left, right}), tenon::boolean, {2, 2}, {0, 1, 1, 0}, 0);
  check_near(host().call("logical_not", {right}), tenon::boolean, {2}, {1, 0}, 0);
}

TEST_CASE("activations of integers") {
  check_near(host().call("relu", {tensor(tenon::i8, {3}, {-128, 0, 127})}), tenon::i8, {3},
             {0, 0, 127}, 0);
  check_near(host().call("sign", {tensor(tenon::i64, {3}, {-9, 0, 4})}), tenon::i64, {3},
             {-1, 0, 1}, 0);
  check_near(host().call("sign", {tensor(tenon::u8, {2}, {0, 255})}), tenon::u8, {2}, {0, 1}, 0);
  check_near(host().call("shrink", {tensor(tenon::i32, {4}, {-2, -1, 1, 3})},
                         {{"bias", 1.5}, {"threshold", 1.5}}),
             tenon::i32, {4}, {0, 0, 0, 1}, 0);
  const auto x = tensor(tenon::i32, {2, 2}, {-3, 3, -1, 0}),
             slope = tensor(tenon::i32, {2}, {2, 5});
  check_near(host().call("prelu", {x, slope}), tenon::i32, {2, 2}, {-6, 3, -2, 0}, 0);
  const auto halves = tensor(tenon::f16, {2, 2}, {-3, 3, -1, nan_value}),
             factor = tensor(tenon::f16, {2, 1}, {0.5, 0.25});
  check_near(host().call("prelu", {halves, factor}), tenon::f16, {2, 2},
             {-1.5, 3, -0.25, nan_value}, 0);
}

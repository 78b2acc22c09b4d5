// quantize and dequantize. Oracle: onnx.reference of the Python package onnx 1.23.
#include "numbers.hpp"

using namespace plugin_tests;

TEST_CASE("quantize rounds halves to even and saturates, with a single scale") {
  const auto x = tensor(tenon::f32, {8}, {0, 1, 3, 5, -1, 1000, -inf, nan_value}),
             scale = tensor(tenon::f32, Shape::scalar(), {2});
  check_near(host().call("quantize", {x, scale}), tenon::u8, {8}, {0, 0, 2, 2, 0, 255, 0, 0}, 0);
  check_near(host().call("quantize", {x, scale, tensor(tenon::i8, Shape::scalar(), {-3})}),
             tenon::i8, {8}, {-3, -3, -1, -1, -3, 127, -128, 0}, 0);
  check_near(
      host().call("quantize", {tensor(tenon::i32, {2}, {7, -9}), tensor(tenon::f32, {1}, {3})},
                  {{"dtype", "int8"}}),
      tenon::i8, {2}, {2, -3}, 0);
  const auto wide = host().call(
      "quantize", {tensor(tenon::f32, {3}, {-40000, 70000, 5}), tensor(tenon::f32, {1}, {1}),
                   Tensor::from<std::int16_t>({10}, {1})});
  CHECK(std::vector<std::int16_t>(wide.values<std::int16_t>().begin(),
                                  wide.values<std::int16_t>().end()) ==
        std::vector<std::int16_t>{-32768, 32767, 15});
}

TEST_CASE("quantize with a scale whose inverse is not a float32") {
  for (const float scale : {1.2e-38F, 3e-39F, 1e-39F, 1e-42F, 3e38F}) {
    INFO(scale);
    const std::vector<float> x{0, scale, -scale, 3 * scale, 1, -1, HUGE_VALF, -HUGE_VALF};
    Doubles expected;
    for (const float each : x)
      expected.push_back(std::fmin(
          std::fmax(std::nearbyint(static_cast<double>(each) / static_cast<double>(scale)) + 128,
                    0),
          255));
    check_near(host().call("quantize", {Tensor::from(x, {8}), Tensor::from({scale}, {1}),
                                        Tensor::from<std::uint8_t>({128}, {1})}),
               tenon::u8, {8}, expected, 0);
  }
}

TEST_CASE("quantize divides in the precision of its scale, or in float32") {
  const auto x = tensor(tenon::f16, {1}, {0.8125}),
             scale = tensor(tenon::f16, {1}, {0.324951171875});
  check_near(host().call("quantize", {x, scale}), tenon::u8, {1}, {2},
             0);  // 2.50038 is 2.5 in float16
  check_near(host().call("quantize", {x, scale}, {{"precise", true}}), tenon::u8, {1}, {3}, 0);
  const auto wide = tensor(tenon::f32, {1}, {2.505}), one = tensor(tenon::bf16, {1}, {1});
  check_near(host().call("quantize", {wide, one}), tenon::u8, {1}, {2}, 0);
  check_near(host().call("quantize", {wide, one}, {{"precise", true}}), tenon::u8, {1}, {3}, 0);
}

TEST_CASE("quantize and dequantize with a scale for each index or each block along an axis") {
  const auto x = arbitrary(tenon::f32, {3, 5, 4}, -300, 300);
  const auto numbers = doubles(x);
  struct Row {
    Shape scale;
    std::int64_t axis, block_size;
  };
  for (const auto& row : {Row{{3}, 0, 0}, Row{{5}, 1, 0}, Row{{4}, -1, 0}, Row{{3, 3, 4}, 1, 2},
                          Row{{3, 5, 2}, 2, 3}, Row{{1, 5, 4}, 0, 7}}) {
    const auto& [shape, axis, block_size] = row;
    INFO(tenon::to_string(row.scale), " at ", row.axis);
    const auto scale = arbitrary(tenon::f32, shape, 1, 5, 2),
               zero = arbitrary(tenon::u8, shape, 90, 150, 3);
    const auto scales = doubles(scale), zeros = doubles(zero);
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    Doubles quantized, restored;
    std::size_t i = 0;
    for (auto position : positions(x.shape())) {
      if (block_size > 0) position[at] /= block_size;
      const auto s =
          block_size > 0 ? offset(shape, position) : static_cast<std::size_t>(position[at]);
      const auto quotient =
          static_cast<double>(static_cast<float>(numbers[i++]) / static_cast<float>(scales[s]));
      quantized.push_back(std::fmin(std::fmax(std::nearbyint(quotient) + zeros[s], 0), 255));
      restored.push_back((quantized.back() - zeros[s]) * scales[s]);
    }
    const Attributes attributes = {{"axis", axis}, {"block_size", block_size}};
    const auto y = host().call("quantize", {x, scale, zero}, attributes);
    check_near(y, tenon::u8, x.shape(), quantized, 0);
    check_near(host().call("dequantize", {y, scale, zero}, attributes), tenon::f32, x.shape(),
               restored, 1e-6);
  }
}

TEST_CASE(
    "dequantize returns the dtype of its scale or the requested one; int32 differences do not "
    "overflow") {
  const auto x = tensor(tenon::i32, {2}, {2147483647.0, -2147483648.0}),
             zero = tensor(tenon::i32, {1}, {-1});
  check_near(host().call("dequantize", {x, tensor(tenon::f32, {1}, {2}), zero}), tenon::f32, {2},
             {4294967296.0, -4294967296.0}, 0);
  const auto small = tensor(tenon::u8, {2}, {3, 255}), half = tensor(tenon::f16, {1}, {0.5});
  check_near(host().call("dequantize", {small, half}), tenon::f16, {2}, {1.5, 127.5}, 0);
  check_near(host().call("dequantize", {small, half}, {{"dtype", "float32"}}), tenon::f32, {2},
             {1.5, 127.5}, 0);
}

TEST_CASE("scales of inconsistent shapes are refused") {
  const auto x = tensor(tenon::f32, {2, 3}, Doubles(6)), two = tensor(tenon::f32, {2}, {1, 1});
  check_says(failure("quantize", {x, two}), {"scale is [2]", "x is [2, 3]", "axis 1"});
  check_says(failure("quantize", {x, two}, {{"axis", 2}}), {"axis", "2", "2 dimensions"});
  check_says(failure("quantize", {x, two}, {{"block_size", 2}}), {"block of 2", "axis 1"});
  check_says(failure("quantize", {x, two, tensor(tenon::u8, {1}, {0})}, {{"axis", 0}}),
             {"zero_point", "[1]", "[2]"});
  check_says(failure("quantize", {x, tensor(tenon::f32, {1}, {1}), tensor(tenon::u8, {1}, {0})},
                     {{"dtype", "int8"}}),
             {"uint8", "int8"});
}

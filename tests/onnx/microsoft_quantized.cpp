// com.microsoft's operators on 8-bit integers, as onnxruntime's quantizer writes them. Expected
// numbers were recorded from onnxruntime 1.32; quantized_models.py compares more models with it.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "imported.hpp"

namespace microsoft_quantized_tests {
namespace {

using imported::OnnxHost;
using imported::Written;
using onnx_bytes::Dims;
using onnx_bytes::float_attribute;
using onnx_bytes::float_tensor;
using onnx_bytes::int_attribute;
using onnx_bytes::ints_attribute;
using onnx_bytes::Texts;
using Values = std::vector<float>;

/// An initializer; `code` is ONNX's number of T.
template <class T>
std::string integers(const std::string& name, const Dims& dims, const std::vector<T>& values,
                     int code) {
  return onnx_bytes::tensor(name, code, dims, onnx_bytes::raw_data(onnx_bytes::raw(values)));
}
std::string uint8s(const std::string& name, const Dims& dims, const std::vector<int>& values) {
  return integers(name, dims, std::vector<std::uint8_t>(values.begin(), values.end()), 2);
}
std::string int8s(const std::string& name, const Dims& dims, const std::vector<int>& values) {
  return integers(name, dims, std::vector<std::int8_t>(values.begin(), values.end()), 3);
}
std::string int32s(const std::string& name, const Dims& dims,
                   const std::vector<std::int32_t>& values) {
  return integers(name, dims, values, 6);
}
std::vector<int> multiples(int count, int factor, int period, int offset) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(i * factor % period + offset);
  return values;
}

/// The tensors of all cases: a, b and an image with channels last, scales `s*`, zero points `z*`.
const Texts& tensors() {
  static const Texts all{
      uint8s("a", {2, 2}, {0, 50, 128, 255}),
      float_tensor("sa", {}, {0.1F}),
      uint8s("za", {}, {20}),
      uint8s("b", {2, 2}, {10, 20, 200, 90}),
      float_tensor("sb", {}, {0.25F}),
      uint8s("zb", {}, {100}),
      float_tensor("sy", {}, {0.3F}),
      uint8s("zy", {}, {9}),
      float_tensor("small", {}, {0.01F}),
      float_tensor("p200", {}, {1.0F / 200}),
      float_tensor("p250", {}, {1.0F / 250}),
      onnx_bytes::tensor("c", 9, {2, 2}, onnx_bytes::raw_data({"\1\0\0\1", 4})),
      uint8s("image", {1, 3, 4, 2}, multiples(24, 11, 256, 0)),
      int8s("w", {3, 2}, {10, -20, 100, -90, 5, 7}),
      int8s("wt", {2, 3}, {10, 100, 5, -20, -90, 7}),
      float_tensor("sw", {3}, {0.01F, 0.02F, 0.03F}),
      int8s("zw", {3}, {0, 0, 0}),
      int8s("zw2", {3}, {3, -2, 1}),
      int32s("bias", {3}, {100, -200, 300}),
      float_tensor("real_bias", {3}, {1, 2, 3}),
      float_tensor("real", {2, 2}, {-1, 2, 3, 4.5F}),
  };
  return all;
}

struct Recorded {
  std::string type;
  Texts inputs;
  Texts attributes;
  Values expected;
  Texts more{};  ///< initializers
};

Values run(const Recorded& each) {
  OnnxHost on;
  Written written{
      .nodes = {{each.type, each.inputs, {"made"}, each.attributes, "", "com.microsoft"},
                {"Cast", {"made"}, {"y"}, {int_attribute("to", 1)}}},
      .initializers = each.more};
  written.initializers.insert(written.initializers.end(), tensors().begin(), tensors().end());
  return on.run(on.load(written));
}

void check_all(const std::vector<Recorded>& cases) {
  for (const auto& each : cases) {
    CAPTURE(each.type);
    const auto made = run(each);
    REQUIRE(made.size() == each.expected.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      CHECK(made[i] == doctest::Approx(each.expected[i]).epsilon(1e-5));
  }
}

const Texts of_a{"a", "sa", "za", "sy", "zy"}, of_image{"image", "sa", "za", "sy", "zy"},
    of_wide_image{"image", "sb", "za", "sy", "zy"};

}  // namespace

TEST_CASE("com.microsoft: elementwise operators on integers match onnxruntime") {
  const Texts both{"a", "sa", "za", "b", "sb", "zb", "sy", "zy"};
  check_all(
      {{"QLinearAdd", both, {}, {0, 0, 128, 79}},
       {"QLinearMul", both, {}, {159, 0, 255, 0}},
       {"QLinearSigmoid", {"a", "sa", "za", "p200", "zy"}, {}, {33, 200, 209, 209}},
       {"QLinearLeakyRelu", of_a, {float_attribute("alpha", 0.3F)}, {7, 19, 45, 87}},
       // without zero points, uint8 like the input: closed forms
       {"QLinearLeakyRelu", {"a", "sa", "", "sy"}, {}, {0, 17, 43, 85}},
       {"QLinearConcat",
        {"sy", "zy", "a", "sa", "za", "b", "sb", "zb"},
        {int_attribute("axis", 1)},
        {2, 19, 0, 0, 45, 87, 92, 1}},
       {"QLinearWhere", {"c", "a", "sa", "za", "b", "sb", "zb", "sy", "zy"}, {}, {2, 0, 92, 87}}});
}

// 250 steps are 249.99999 in float32, of which onnxruntime keeps 249.
TEST_CASE("com.microsoft: QLinearSoftmax is that of its attribute opset") {
  const Texts inputs{"a", "small", "za", "p250", "zy"};
  const auto axis = int_attribute("axis", 0);
  check_all({{"QLinearSoftmax", inputs, {int_attribute("opset", 11), axis}, {22, 31, 56, 176}},
             {"QLinearSoftmax", inputs, {int_attribute("opset", 13), axis}, {63, 37, 204, 230}}});
  CHECK(failure_of([&] {
          run({"QLinearSoftmax", inputs, {axis}, {}});
        }).message.find("its opset is missing") != std::string::npos);
}

TEST_CASE("com.microsoft: pooling of integers, with channels last") {
  const auto last = int_attribute("channels_last", 1);
  const Texts window{ints_attribute("kernel_shape", {2, 2}), ints_attribute("strides", {2, 2}),
                     ints_attribute("pads", {1, 0, 0, 0}), last};
  auto with_padding = window;
  with_padding.push_back(int_attribute("count_include_pad", 1));
  check_all({{"QLinearAveragePool", of_image, window, {6, 10, 21, 24, 50, 54, 65, 68}},
             {"QLinearAveragePool", of_image, with_padding, {8, 9, 15, 17, 50, 54, 65, 68}},
             {"QLinearGlobalAveragePool", of_wide_image, {last}, {93, 102}},
             {"QLinearGlobalAveragePool", of_wide_image, {}, {24, 98, 171}},
             {"NhwcMaxPool",
              {"image"},
              {ints_attribute("kernel_shape", {2, 2}), ints_attribute("strides", {1, 2})},
              {110, 121, 154, 165, 198, 209, 242, 253}},
             // onnxruntime has no kernel: the means of the rows are 0.5 and 17.15
             {"QLinearReduceMean",
              of_a,
              {ints_attribute("axes", {1}), int_attribute("keepdims", 0)},
              {11, 66}}});
}

TEST_CASE("com.microsoft: QLinearConv with channels last") {
  check_all({{"QLinearConv",
              {"image", "sa", "za", "filters", "sf", "zf", "sy", "fifty", "b2"},
              {int_attribute("channels_last", 1)},
              {22, 62, 10, 62, 0, 63, 0, 64, 0, 65, 0, 65},
              {int8s("filters", {2, 2, 2, 2}, multiples(16, 37, 200, -100)),
               float_tensor("sf", {2}, {0.01F, 0.02F}), int8s("zf", {2}, {0, 0}),
               uint8s("fifty", {}, {50}), int32s("b2", {2}, {10, -2000})}}});
}

TEST_CASE("com.microsoft: products of integers, per column, to integers and to float32") {
  const auto transposed = int_attribute("transB", 1);
  check_all({{"QGemm",
              {"a", "sa", "za", "w", "sw", "zw", "bias", "sy", "zy"},
              {transposed, float_attribute("alpha", 2)},
              {4, 0, 17, 0, 0, 59}},
             {"QGemm",
              {"a", "sa", "za", "w", "sw", "zw", "bias"},
              {transposed},
              {-0.7F, -9.8F, 1.23F, -3.52F, -21.1F, 7.455F}},
             {"MatMulIntegerToFloat",
              {"a", "wt", "sa", "sw", "za", "", "real_bias"},
              {},
              {0.2F, -7.4F, 3.33F, -2.62F, -18.7F, 9.555F}},
             {"DynamicQuantizeMatMul",
              {"real", "wt", "sw", "zw2"},
              {},
              {-0.5308039F, -5.554353F, 0.242F, -0.8269412F, -1.817804F, 1.171176F}}});
  CHECK(failure_of([] {
          run({"QGemm", {"a", "sw", "za", "w", "sw", "zw"}, {int_attribute("transB", 1)}, {}});
        }).message.find("one of its scales or zero points is not a single number") !=
        std::string::npos);
}

TEST_CASE("com.microsoft: QAttention and QEmbedLayerNormalization") {
  const Texts attention{uint8s("x3", {1, 2, 2}, {0, 50, 128, 255}),
                        int8s("qkv", {2, 6}, multiples(12, 17, 100, -50)),
                        float_tensor("b6", {6}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F}),
                        float_tensor("s1", {}, {0.02F}),
                        float_tensor("s6", {6}, {0.02F, 0.01F, 0.03F, 0.02F, 0.01F, 0.02F}),
                        uint8s("hundred", {}, {100}),
                        int32s("mask", {1}, {1})};
  const auto heads = int_attribute("num_heads", 1);
  check_all({{"QAttention",
              {"x3", "qkv", "b6", "small", "s1", "mask", "hundred"},
              {heads},
              {-0.06F, -0.47F, -0.06F, -0.47F},
              attention},
             {"QAttention",
              {"x3", "qkv", "b6", "small", "s6", "", "hundred"},
              {heads, int_attribute("unidirectional", 1)},
              {0.22F, -0.47F, 0.7615626F, 1.570585F},
              attention}});
  const Texts tables{int32s("ids", {1, 2}, {1, 0}),
                     int32s("segments", {1, 2}, {0, 1}),
                     uint8s("word", {2, 2}, {1, 2, 30, 4}),
                     uint8s("position", {2, 2}, {5, 60, 7, 8}),
                     uint8s("segment", {2, 2}, {9, 1, 2, 3}),
                     uint8s("gamma", {2}, {20, 30}),
                     uint8s("beta", {2}, {4, 5}),
                     float_tensor("s2", {}, {0.2F}),
                     float_tensor("s3", {}, {0.3F}),
                     float_tensor("s05", {}, {0.05F}),
                     uint8s("z0", {}, {0}),
                     uint8s("z1", {}, {1}),
                     uint8s("z2", {}, {2}),
                     uint8s("z3", {}, {3}),
                     uint8s("z4", {}, {4})};
  check_all({{"QEmbedLayerNormalization",
              {"ids", "segments", "word", "position", "segment", "gamma", "beta", "", "sa", "s2",
               "s3", "s05", "sa", "z1", "z2", "z3", "z4", "z0"},
              {float_attribute("epsilon", 0.5F)},
              {-0.3786629F, 1.765327F, 0.08754659F, 1.007737F},
              tables}});
}

TEST_CASE("com.microsoft: QuantizeLinear and DequantizeLinear of 16 bits") {
  check_all(
      {{"QuantizeLinear",
        {"real", "s", "z"},
        {int_attribute("axis", 1)},
        {29000, 1005, 33000, 2255},
        {float_tensor("s", {2}, {0.001F, 0.002F}),
         integers("z", {2}, std::vector<std::uint16_t>{30000, 5}, 4)}},
       {"DequantizeLinear",
        {"i", "s", "z"},
        {},
        {-1.5F, -0.498F, -0.497F, 29.5F},
        {integers("i", {2, 2}, std::vector<std::int16_t>{-1000, 2, 3, 30000}, 5),
         float_tensor("s", {}, {0.001F}), integers("z", {}, std::vector<std::int16_t>{500}, 5)}}});
}

}  // namespace microsoft_quantized_tests

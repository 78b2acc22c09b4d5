// com.microsoft's attention with a past. Expected numbers were recorded from onnxruntime 1.32.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "imported.hpp"

namespace microsoft_attention_tests {
namespace {

using imported::OnnxHost;
using imported::Written;
using onnx_bytes::Dims;
using onnx_bytes::float_attribute;
using onnx_bytes::float_tensor;
using onnx_bytes::int64_tensor;
using onnx_bytes::int_attribute;
using onnx_bytes::NodeFields;
using onnx_bytes::Texts;
using Values = std::vector<float>;

std::string int32s(const std::string& name, const Dims& dims,
                   const std::vector<std::int32_t>& values) {
  return onnx_bytes::tensor(name, 6, dims, onnx_bytes::raw_data(onnx_bytes::raw(values)));
}
Values pattern(int period) {
  Values values;
  for (int i = 0; i < 48; ++i) values.push_back(static_cast<float>(i % period - 2) / 2);
  return values;
}
NodeFields microsoft(const std::string& type, const Texts& inputs, const Texts& outputs,
                     const Texts& attributes) {
  return {type, inputs, outputs, attributes, "", "com.microsoft"};
}

void check(const Written& written, const Values& expected) {
  OnnxHost on;
  const auto made = on.run(on.load(written));
  REQUIRE(made.size() == expected.size());
  for (std::size_t i = 0; i < made.size(); ++i)
    CHECK(made[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

/// Two samples of one step. Of the three rows of their pasts, 1 and 3 are valid, which the input x
/// determines, as well as the maximum of 4 rows.
Written decoder(const std::string& y, const Texts& attributes, const std::string& total = "total") {
  auto all = attributes;
  for (const auto* heads : {"num_heads", "kv_num_heads"}) all.push_back(int_attribute(heads, 1));
  return {.nodes = {{"Concat", {"x", "x", "x", "x"}, {"wide"}, {int_attribute("axis", 1)}},
                    {"Unsqueeze", {"wide", "one"}, {"q"}},
                    {"Gather", {"x", "zero"}, {"first"}, {int_attribute("axis", 1)}},
                    {"Cast", {"first"}, {"ends"}, {int_attribute("to", 6)}},
                    {"Gather", {"x", "one"}, {"last_row"}},
                    {"Gather", {"last_row", "one"}, {"last"}, {int_attribute("axis", 1)}},
                    {"Cast", {"last"}, {"total"}, {int_attribute("to", 6)}},
                    microsoft("GroupQueryAttention", {"q", "q", "q", "k", "v", "ends", total},
                              {y == "y" ? "y" : "output", "", y == "y" ? "" : "y"}, all)},
          .initializers = {int64_tensor("zero", {}, {0}), int64_tensor("one", {1}, {1}),
                           float_tensor("k", {2, 1, 3, 8}, pattern(5)),
                           float_tensor("v", {2, 1, 3, 8}, pattern(7)), int32s("three", {1}, {3})}};
}

/// One sample of two steps, from x, with additional inputs `more`.
Written steps(const NodeFields& node, const Texts& more) {
  Written written{.nodes = {{"Unsqueeze", {"x", "zeros"}, {"q"}},
                            {"Unsqueeze", {"q", "zeros"}, {"heads"}},
                            node},
                  .initializers = more};
  written.initializers.push_back(int64_tensor("zeros", {1}, {0}));
  return written;
}

}  // namespace

TEST_CASE("GroupQueryAttention: appends each sample's step to its own past") {
  const auto scale = float_attribute("scale", 0.0625F);
  check(decoder("y", {scale}),
        {0.6063476F, 1.507934F, 0.8031738F, 1.704761F, 1, 1.901587F, 1.196826F, 1.409521F,
         2.988476F, 3.985637F, 2.989391F, 3.977369F, 2.979958F, 3.977119F, 2.985637F, 3.982798F});
  check(decoder("y", {scale, int_attribute("local_window_size", 2), float_attribute("softcap", 2)}),
        {0.5598167F, 1.449771F, 0.7799084F, 1.669863F, 1, 1.889954F, 1.220092F, 1.339725F,
         2.867324F, 3.823098F, 2.646196F, 3.601971F, 2.734647F, 3.690422F, 2.823098F, 3.778873F});
  check(decoder("present", {scale}),
        {-1,   -0.5F, 0,    0.5F,  1,  1.5F,  2, -1,   1, 2,    1, 2,  1,     2, 1,    2,
         0,    0,     0,    0,     0,  0,     0, 0,    0, 0,    0, 0,  0,     0, 0,    0,
         .5F,  1,     1.5F, 2,     -1, -0.5F, 0, 0.5F, 1, 1.5F, 2, -1, -0.5F, 0, 0.5F, 1,
         1.5F, 2,     -1,   -0.5F, 0,  0.5F,  1, 1.5F, 3, 4,    3, 4,  3,     4, 3,    4});
}

TEST_CASE("GroupQueryAttention: rejects inconsistent lengths and unsupported options") {
  OnnxHost on;
  CHECK(failure_of([&] {
          on.run(on.load(decoder("y", {}, "three")));
        }).message.find("but the axis has size 4") != std::string::npos);
  const auto refused = [&](const Texts& attributes) {
    return failure_of([&] { on.load(decoder("y", attributes)); }).message;
  };
  CHECK(refused({int_attribute("smooth_softmax", 1)})
            .find("its smooth_softmax or head_sink is not supported") != std::string::npos);
  CHECK(refused({int_attribute("local_window_size", 0)})
            .find("its local_window_size must be more than 0, or -1") != std::string::npos);
  CHECK(refused({int_attribute("qk_output", 1)}).find("its qk_output is not supported") !=
        std::string::npos);
}

TEST_CASE("Attention and MultiHeadAttention of com.microsoft: continue from a past") {
  const auto heads = int_attribute("num_heads", 1), scale = float_attribute("scale", 0.25F);
  const Texts weights{float_tensor("w", {2, 6}, {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1}),
                      float_tensor("past", {2, 1, 1, 1, 2}, {1, -1, 0.5F, 2})};
  const Texts parameters{heads, scale, int_attribute("unidirectional", 1)};
  check(steps(microsoft("Attention", {"q", "w", "", "", "past"}, {"y"}, parameters), weights),
        {0.8886499F, 2, 2.936809F, 3.937744F});
  check(
      steps(microsoft("Attention", {"q", "w", "", "", "past"}, {"made", "y"}, parameters), weights),
      {1, -1, 2, 1, 4, 3, 0.5F, 2, 1, 2, 3, 4});
  check(
      steps(microsoft("MultiHeadAttention", {"q", "q", "q", "", "mask", "", "k", "v"}, {"y"},
                      {heads, scale}),
            {int32s("mask", {1, 2, 3}, {1, 1, 0, 0, 1, 1}),
             float_tensor("k", {1, 1, 1, 2}, {1, -1}), float_tensor("v", {1, 1, 1, 2}, {0.5F, 2})}),
      {0.9087872F, 2, 2.941375F, 3.941375F});
}

TEST_CASE(
    "Attention and MultiHeadAttention of com.microsoft: masks by length, and keys that already "
    "have their bias") {
  const auto heads = int_attribute("num_heads", 1), scale = float_attribute("scale", 0.25F);
  check(steps(microsoft("MultiHeadAttention", {"q", "q", "q", "", "ends"}, {"y"},
                        {heads, scale, float_attribute("mask_filter_value", -1)}),
              {int32s("ends", {1}, {1})}),
        {2.244919F, 3.244919F, 2.848284F, 3.848284F});
  check(steps(microsoft("MultiHeadAttention", {"q", "heads", "heads", "b"}, {"y"}, {heads, scale}),
              {float_tensor("b", {6}, {1, 2, 100, 100, 100, 100})}),
        {2.905148F, 3.905148F, 2.986614F, 3.986614F});
}

}  // namespace microsoft_attention_tests

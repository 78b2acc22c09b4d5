// Operators of ONNX and com.microsoft that become several Tenon operators. Expected numbers for
// com.microsoft were recorded from onnxruntime 1.32, others come from onnx.reference and numpy.
#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>

#include "../built.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "onnx_bytes.hpp"

namespace operator_tests {
namespace {

using onnx_bytes::Dims;
using onnx_bytes::float_attribute;
using onnx_bytes::float_tensor;
using onnx_bytes::int64_tensor;
using onnx_bytes::int_attribute;
using onnx_bytes::ints_attribute;
using onnx_bytes::NodeFields;
using onnx_bytes::Texts;
using Values = std::vector<float>;

std::string bytes(const std::string& name, const Dims& dims,
                  const std::vector<std::uint8_t>& values) {
  return onnx_bytes::tensor(name, 2, dims, onnx_bytes::raw_data(onnx_bytes::raw(values)));
}
std::string text(const std::string& name, const std::string& value) {
  return onnx_bytes::attribute(name, 3,
                               onnx_bytes::message([&](auto& to) { to.add_bytes(4, value); }));
}

/// Runs models from x, float32 [2, 2], to y.
struct OperatorHost {
  OperatorHost() : host(options()) { host.add_plugins(built("plugins")); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.search_defaults = false;
    return options;
  }
  tenon::Graph load(const std::vector<NodeFields>& nodes, const Texts& initializers) {
    onnx_bytes::ModelFields model;
    model.graph.nodes = nodes;
    model.graph.inputs = {onnx_bytes::value("x", onnx_bytes::tensor_type(1, {{2}, {2}}))};
    model.graph.outputs = {onnx_bytes::value("y", onnx_bytes::tensor_type(1, {}))};
    model.graph.initializers = initializers;
    model.opsets = {{"", opset}, {"com.microsoft", 1}};
    model.ir = 10;
    const auto path = folder / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes();
    return tenon::onnx::load(host, path);
  }
  tenon::Tensor run(const std::vector<NodeFields>& nodes, const Texts& initializers) {
    return tenon::Session(load(nodes, initializers))
        .run({{"x", tenon::Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2})}})
        .at("y");
  }
  TemporaryFolder folder;
  tenon::Host host;
  std::int64_t opset = 22;
};

struct Recorded {
  std::string type;
  Texts inputs;
  Texts attributes;
  Texts initializers;
  Values expected;
};

void check_all(const std::vector<Recorded>& cases, const std::string& domain) {
  OperatorHost on;
  for (const auto& each : cases) {
    CAPTURE(each.type);
    const auto made =
        on.run({{each.type, each.inputs, {"y"}, each.attributes, "", domain}}, each.initializers);
    REQUIRE(made.size() == static_cast<std::int64_t>(each.expected.size()));
    for (std::size_t i = 0; i < each.expected.size(); ++i)
      CHECK(made.values<float>()[i] == doctest::Approx(each.expected[i]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("com.microsoft: operators match onnxruntime") {
  check_all({{"SkipLayerNormalization",
              {"x", "skip", "gamma", "beta"},
              {float_attribute("epsilon", 0.5F)},
              {float_tensor("skip", {2, 2}, {0.5F, -1, 2, 0}), float_tensor("gamma", {2}, {1, 2}),
               float_tensor("beta", {2}, {0.25F, 0})},
              {0.5833334F, -0.6666667F, 0.8273503F, -1.154701F}},
             {"FusedMatMul",
              {"x", "w"},
              {float_attribute("alpha", 0.5F), int_attribute("transB", 1)},
              {float_tensor("w", {3, 2}, {1, 2, 3, 4, -1, 0})},
              {2.5F, 5.5F, -0.5F, 5.5F, 12.5F, -1.5F}},
             {"FastGelu",
              {"x", "b"},
              {},
              {float_tensor("b", {2}, {-2, -3.5F})},
              {-0.158808F, -0.1004284F, 0.841192F, 0.345714F}},
             {"QuickGelu",
              {"x"},
              {float_attribute("alpha", 0.5F)},
              {},
              {0.6224593F, 1.462117F, 2.452723F, 3.523188F}},
             {"MatMulNBits",
              {"x", "w", "scale"},
              {int_attribute("K", 2), int_attribute("N", 2), int_attribute("bits", 4),
               int_attribute("block_size", 16)},
              {bytes("w", {2, 1, 8}, {0x3a, 0, 0, 0, 0, 0, 0, 0, 0xf1, 0, 0, 0, 0, 0, 0, 0}),
               float_tensor("scale", {2}, {0.5F, 0.25F})},
              {-4, 1.75F, -7, 1.75F}}},
            "com.microsoft");
}

// onnxruntime's own node also rounds the data in each step and differs by up to 9e-4.
TEST_CASE("com.microsoft: DynamicQuantizeLSTM matches onnxruntime's LSTM of the rounded weights") {
  const auto int8s = [](const std::string& name, const Dims& dims,
                        const std::vector<std::int8_t>& values) {
    return onnx_bytes::tensor(name, 3, dims, onnx_bytes::raw_data(onnx_bytes::raw(values)));
  };
  std::vector<std::int8_t> weight, recurrent;
  Values bias;
  for (int i = 0; i < 32; ++i) {
    weight.push_back(static_cast<std::int8_t>(i * 37 % 201 - 100));
    recurrent.push_back(static_cast<std::int8_t>(i * 53 % 201 - 100));
    bias.push_back(static_cast<float>(i * 7 % 32 - 16) / 50);
  }
  OperatorHost on;
  const auto made = on.run({{"Unsqueeze", {"x", "one"}, {"steps"}},
                            {"DynamicQuantizeLSTM",
                             {"steps", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"},
                             {"y"},
                             {int_attribute("hidden_size", 2), text("direction", "bidirectional")},
                             "",
                             "com.microsoft"}},
                           {int64_tensor("one", {1}, {1}), int8s("w", {2, 2, 8}, weight),
                            int8s("r", {2, 2, 8}, recurrent), float_tensor("b", {2, 16}, bias),
                            float_tensor("ws", {2}, {0.01F, 0.005F}), int8s("wz", {2}, {3, -5}),
                            float_tensor("rs", {2}, {0.008F, 0.01F}), int8s("rz", {2}, {-2, 0})});
  const Values expected{-0.1045755F,  0.02793358F,  -0.2190734F, 0.1689928F,
                        -0.06487319F, 0.007732796F, -0.3567389F, 0.03578002F};
  REQUIRE(made.shape() == tenon::Shape{2, 2, 1, 2});
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(made.values<float>()[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("com.microsoft: attention and rotary embeddings match onnxruntime") {
  OperatorHost on;
  const NodeFields batch{"Unsqueeze", {"x", "first"}, {"q"}};
  const auto first = int64_tensor("first", {1}, {0});
  const auto attended =
      on.run({batch,
              {"MultiHeadAttention",
               {"q", "q", "q"},
               {"y"},
               {int_attribute("num_heads", 2), int_attribute("unidirectional", 1)},
               "",
               "com.microsoft"}},
             {first});
  const Values expected{1, 2, 2.995055F, 3.999329F};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(attended.values<float>()[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  const auto turned = on.run(
      {batch, {"RotaryEmbedding", {"q", "from", "cos", "sin"}, {"y"}, {}, "", "com.microsoft"}},
      {first, int64_tensor("from", {1}, {1}), float_tensor("cos", {3, 1}, {1, 0.5F, 0.25F}),
       float_tensor("sin", {3, 1}, {0, 0.75F, -1})});
  CHECK(std::vector<float>(turned.values<float>().begin(), turned.values<float>().end()) ==
        Values{-1, 1.75F, 4.75F, -2});
}

TEST_CASE("import Einsum: products, sums and diagonals") {
  const auto einsum = [](const std::string& equation, const Texts& inputs, const Values& expected) {
    return Recorded{"Einsum",
                    inputs,
                    {text("equation", equation)},
                    {float_tensor("w", {2, 2}, {1, 0, 2, 1}), float_tensor("v", {2}, {1, -1})},
                    expected};
  };
  check_all(
      {einsum("ij,kj->ik", {"x", "w"}, {1, 4, 3, 10}),
       einsum("ij,kj->ki", {"x", "w"}, {1, 3, 4, 10}), einsum("ii->i", {"x"}, {1, 4}),
       einsum("ii", {"x"}, {5}), einsum("...j -> j...", {"x"}, {1, 3, 2, 4}),
       einsum("ij,ij->", {"x", "x"}, {30}), einsum("ij,j,kj->ki", {"x", "v", "w"}, {1, 3, 0, 2}),
       einsum("ij,jk", {"x", "w"}, {5, 2, 11, 4})},
      "");
  OperatorHost on;
  const auto refused = [&](const std::string& equation) {
    return failure_of([&] {
             on.load({{"Einsum", {"x", "x"}, {"y"}, {text("equation", equation)}}}, {});
           })
        .message;
  };
  CHECK(refused("ij->i").find("has 1 terms, but the node has 2 inputs") != std::string::npos);
  CHECK(refused("ij,ijk->i").find("term 'ijk' of its equation does not match float32 [2, 2]") !=
        std::string::npos);
  CHECK(refused("ij,jk->iq").find("repeats a letter, or has one that is in no term") !=
        std::string::npos);
  CHECK(refused("ij,j1->i").find("'1' in place of a letter") != std::string::npos);
}

TEST_CASE("import: norms, windows and center crops") {
  check_all(
      {{"MeanVarianceNormalization", {"x"}, {ints_attribute("axes", {0})}, {}, {-1, -1, 1, 1}},
       {"LpNormalization",
        {"x"},
        {int_attribute("axis", 0), int_attribute("p", 1)},
        {},
        {0.25F, 0.3333333F, 0.75F, 0.6666667F}},
       {"CenterCropPad",
        {"x", "s"},
        {ints_attribute("axes", {1})},
        {int64_tensor("s", {1}, {5})},
        {0, 1, 2, 0, 0, 0, 3, 4, 0, 0}},
       {"HannWindow",
        {"n"},
        {int_attribute("periodic", 0)},
        {int64_tensor("n", {}, {5})},
        {0, 0.5F, 1, 0.5F, 0}},
       {"BlackmanWindow", {"n"}, {}, {int64_tensor("n", {}, {4})}, {0, 0.34F, 1, 0.34F}}},
      "");
}

TEST_CASE("import: integer convolutions are exact beyond float32's precision") {
  OperatorHost on;
  for (const std::int64_t channels : {300, 5000}) {  // the second one also splits the data
    std::vector<std::uint8_t> x(static_cast<std::size_t>(channels), 255), w(x);
    w[0] = 254;
    const auto made =
        on.run({{"ConvInteger", {"a", "w"}, {"y"}}},
               {bytes("a", {1, channels, 1, 1}, x), bytes("w", {1, channels, 1, 1}, w)});
    CHECK(made.values<std::int32_t>()[0] == 255 * 255 * channels - 255);
  }
  // (3 - 10) * 3 + 3, times 2 * 0.5 / 4, is -4.5, which rounds to -4
  const auto made = on.run(
      {{"QLinearConv", {"a", "two", "ten", "w", "half", "zero", "four", "ten", "b"}, {"y"}}},
      {bytes("a", {1, 1, 1, 1}, {3}), bytes("w", {1, 1, 1, 1}, {3}), float_tensor("two", {}, {2}),
       float_tensor("half", {}, {0.5F}), float_tensor("four", {}, {4}), bytes("ten", {}, {10}),
       bytes("zero", {}, {0}),
       onnx_bytes::tensor("b", 6, {1},
                          onnx_bytes::raw_data(onnx_bytes::raw(std::vector<std::int32_t>{3})))});
  CHECK(int{made.values<std::uint8_t>()[0]} == 6);
}

TEST_CASE("import: Conv and ConvTranspose in float64 keep digits that float32 has not") {
  OperatorHost on;
  constexpr double tiny = 0x1p-40;
  const auto doubles = [](const std::string& name, const Dims& dims,
                          const std::vector<double>& values) {
    return onnx_bytes::tensor(name, 11, dims, onnx_bytes::raw_data(onnx_bytes::raw(values)));
  };
  const Texts tensors{doubles("a", {1, 1, 3}, {1 + tiny, 2, 4}), doubles("w", {1, 1, 2}, {1, -1}),
                      doubles("b", {1}, {0.5})};
  const auto check = [&](const std::string& type, const std::vector<double>& expected) {
    const auto made = on.run({{type, {"a", "w", "b"}, {"y"}}}, tensors);
    REQUIRE(made.size() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(made.values<double>()[i] == expected[i]);
  };
  check("Conv", {-0.5 + tiny, -1.5});
  check("ConvTranspose", {1.5 + tiny, 1.5 - tiny, 2.5, -3.5});
}

TEST_CASE("import: random operators take the input's shape; probabilities of 0 and 1 are certain") {
  OperatorHost on;
  const auto certain = on.run({{"Greater", {"x", "two"}, {"c"}},
                               {"Cast", {"c"}, {"p"}, {int_attribute("to", 1)}},
                               {"Bernoulli", {"p"}, {"y"}}},
                              {float_tensor("two", {}, {2})});
  CHECK(std::vector<float>(certain.values<float>().begin(), certain.values<float>().end()) ==
        Values{0, 0, 1, 1});
  const auto drawn = on.run({{"RandomUniformLike",
                              {"x"},
                              {"y"},
                              {float_attribute("low", 5), float_attribute("high", 6)}}},
                            {});
  CHECK(drawn.shape() == tenon::Shape{2, 2});
  for (const auto value : drawn.values<float>()) CHECK((value >= 5 && value < 6));
}

TEST_CASE("import: large integers, ignored classes and numeric masks follow ONNX") {
  OperatorHost on;
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const auto counted = on.run({{"Range", {"from", "to", "one"}, {"y"}}},
                              {int64_tensor("from", {}, {large}),
                               int64_tensor("to", {}, {large + 3}), int64_tensor("one", {}, {1})});
  REQUIRE(counted.size() == 3);
  CHECK(counted.values<std::int64_t>()[2] == large + 2);
  constexpr float never = -std::numeric_limits<float>::infinity();
  const auto loss = on.run({{"NegativeLogLikelihoodLoss",
                             {"scores", "labels"},
                             {"y"},
                             {int_attribute("ignore_index", 7), text("reduction", "none")}}},
                           {float_tensor("scores", {2, 2}, {never, -2, never, -1}),
                            int64_tensor("labels", {2}, {7, 1})});
  CHECK(loss.values<float>()[0] == 0);
  CHECK(loss.values<float>()[1] == 1);
  const auto first = int64_tensor("first", {1}, {0});
  const auto attended = [&](std::int64_t seen) {
    return on.run({{"Unsqueeze", {"x", "first"}, {"q"}},
                   {"MultiHeadAttention",
                    {"q", "q", "q", "", "mask"},
                    {"y"},
                    {int_attribute("num_heads", 1)},
                    "",
                    "com.microsoft"}},
                  {first, int64_tensor("mask", {1, 2}, {seen, 0})});
  };
  const auto one = attended(1), other = attended(255);
  for (std::size_t i = 0; i < 4; ++i) CHECK(one.values<float>()[i] == other.values<float>()[i]);
}

TEST_CASE("import: sizes that are too large for the file, or invalid, are rejected") {
  OperatorHost on;
  const auto refused = [&](const NodeFields& node, const Texts& initializers) {
    return failure_of([&] { on.load({node}, initializers); }).message;
  };
  CHECK(refused({"MatMulNBits",
                 {"x", "w", "scale"},
                 {"y"},
                 {int_attribute("K", 2), int_attribute("N", 4), int_attribute("bits", 8),
                  int_attribute("block_size", std::int64_t{1} << 62)},
                 "",
                 "com.microsoft"},
                {bytes("w", {4, 1, 0}, {}), float_tensor("scale", {4}, {1, 1, 1, 1})})
            .find("its block_size must be a power of two") != std::string::npos);
  CHECK(refused({"AffineGrid", {"theta", "size"}, {"y"}},
                {float_tensor("theta", {1, 2, 3}, {1, 0, 0, 0, 1, 0}),
                 int64_tensor("size", {4}, {1, 1, 8000, 8000})})
            .find("too much for a file of this size") != std::string::npos);
  CHECK(refused({"ConvTranspose",
                 {"a", "w"},
                 {"y"},
                 {ints_attribute("output_shape", {5}), ints_attribute("strides", {INT64_MAX})}},
                {float_tensor("a", {1, 1, 3}, {1, 2, 3}), float_tensor("w", {1, 1, 1}, {1})})
            .find("are negative or too large") != std::string::npos);
  CHECK(
      refused({"Einsum", {"x"}, {"y"}, {text("equation", "......->")}}, {}).find("two ellipses") !=
      std::string::npos);
}

TEST_CASE(
    "import MeanVarianceNormalization: precise for numbers that are large compared with their "
    "differences") {
  OperatorHost on;
  const NodeFields even{
      "MeanVarianceNormalization", {"a"}, {"y"}, {ints_attribute("axes", {0, 1})}};
  const auto check = [&](const tenon::Tensor& made, const Values& expected) {
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(made.values<float>()[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  };
  const Values expected{-1.3416407F, -0.4472136F, 0.4472136F, 1.3416407F};
  check(on.run({even}, {float_tensor("a", {2, 2}, {4001, 4002, 4003, 4004})}), expected);
  check(on.run({{"Add", {"x", "large"}, {"a"}}, even}, {float_tensor("large", {}, {4000})}),
        expected);
  for (const float constant : {0.1F, 1000.1F, 7.3e6F}) {
    check(on.run({even}, {float_tensor("a", {2, 2}, {constant, constant, constant, constant})}),
          {0, 0, 0, 0});
    const auto many =
        on.run({{"MeanVarianceNormalization", {"a"}, {"y"}, {ints_attribute("axes", {0})}}},
               {float_tensor("a", {999}, Values(999, constant))});
    CHECK(many.values<float>()[0] == doctest::Approx(0).epsilon(1e-5));
  }
}

TEST_CASE("import GroupNormalization: one scale per group before opset 21, then one per channel") {
  OperatorHost on;
  const auto made = [&](std::int64_t opset, const Texts& initializers,
                        const Texts& attributes = {}) {
    on.opset = opset;
    return on.run({{"Reshape", {"x", "sizes"}, {"d"}},
                   {"GroupNormalization",
                    {"d", "scale", "bias"},
                    {"y"},
                    [&] {
                      auto all = attributes;
                      all.push_back(int_attribute("num_groups", 2));
                      return all;
                    }()}},
                  [&] {
                    auto all = initializers;
                    all.push_back(int64_tensor("sizes", {3}, {1, 4, 1}));
                    return all;
                  }());
  };
  const auto grouped =
      made(18, {float_tensor("scale", {2}, {2, 3}), float_tensor("bias", {2}, {10, 20})});
  const auto each = made(
      21, {float_tensor("scale", {4}, {2, 2, 3, 3}), float_tensor("bias", {4}, {10, 10, 20, 20})});
  const Values expected{8.00004F, 11.99996F, 17.00006F, 22.99994F};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(grouped.values<float>()[i] == doctest::Approx(expected[i]).epsilon(1e-6));
    CHECK(each.values<float>()[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
  const auto refusal =
      failure_of([&] {
        made(18, {float_tensor("scale", {4}, {2, 2, 3, 3}), float_tensor("bias", {2}, {1, 2})});
      }).message;
  CHECK(refusal.find("its scale and bias must be [2], one number per group, before opset 21") !=
        std::string::npos);
  const auto stash = failure_of([&] {
    made(21, {float_tensor("scale", {4}, {2, 2, 3, 3}), float_tensor("bias", {4}, {1, 2, 3, 4})},
         {int_attribute("stash_type", 10)});
  });
  CHECK(stash.message.find("its stash_type must be 1") != std::string::npos);
}

}  // namespace operator_tests

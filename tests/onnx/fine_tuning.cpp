// Fine-tuning of an imported network.
#include <doctest/doctest.h>

#include <tenon/host/trainer.hpp>

#include "../failure_of.hpp"
#include "imported.hpp"
#include "small_models.hpp"

using namespace imported;

namespace fine_tuning_tests {
namespace {

std::string weights(const std::string& name, const onnx_bytes::Dims& dims, float scale) {
  std::int64_t count = 1;
  for (const auto dim : dims) count *= dim;
  std::vector<float> elements;
  for (std::int64_t i = 0; i < count; ++i)
    elements.push_back(scale * static_cast<float>((i * 7 + 3) % 11 - 5));
  return float_tensor(name, dims, elements);
}

/// Images of 4 x 4 in two classes: Conv, BatchNormalization, Relu, pooling, Dropout, Gemm.
std::string network() {
  onnx_bytes::ModelFields fields;
  fields.graph.nodes = {
      {"Conv",
       {"x", "w"},
       {"c"},
       {onnx_bytes::ints_attribute("pads", {1, 1, 1, 1}),
        onnx_bytes::ints_attribute("kernel_shape", {3, 3})},
       "conv"},
      {"BatchNormalization", {"c", "scale", "offset", "mean", "variance"}, {"n"}, {}, "norm"},
      {"Relu", {"n"}, {"r"}},
      {"GlobalAveragePool", {"r"}, {"p"}},
      {"Flatten", {"p"}, {"f"}},
      {"Dropout", {"f", "ratio", "off"}, {"d"}, {}, "drop"},
      {"Gemm", {"d", "g", "h"}, {"scores"}, {int_attribute("transB", 1)}, "dense"}};
  fields.graph.inputs = {
      onnx_bytes::value("x", onnx_bytes::tensor_type(1, {{-1, "N"}, {1}, {4}, {4}}))};
  fields.graph.outputs = {onnx_bytes::value("scores")};
  fields.graph.initializers = {
      weights("w", {4, 1, 3, 3}, 0.1F),
      float_tensor("scale", {4}, {1, 1, 1, 1}),
      float_tensor("offset", {4}, {0, 0, 0, 0}),
      float_tensor("mean", {4}, {0.5F, 0, 0, 0}),
      float_tensor("variance", {4}, {2, 1, 1, 1}),
      weights("g", {2, 4}, 0.05F),
      float_tensor("h", {2}, {0, 0}),
      float_tensor("ratio", {}, {0.1F}),
      onnx_bytes::tensor("off", 9, {}, onnx_bytes::raw_data(std::string(1, '\0')))};
  return fields.bytes();
}

/// Images of class 0 have a bright left half, those of class 1 a bright top half.
tenon::NamedTensors images(std::int64_t count) {
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    labels.push_back(i % 2);
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 4; ++column)
        pixels.push_back((labels.back() == 0 ? column < 2 : row < 2)
                             ? 1.F + 0.01F * static_cast<float>(i % 7)
                             : 0.1F);
  }
  return {{"x", tenon::Tensor::from(pixels, {count, 1, 4, 4})},
          {"label", tenon::Tensor::from(labels, {count})}};
}

}  // namespace

TEST_CASE(
    "fine-tuning: an imported network with normalization states and dropout is trained and saved") {
  OnnxHost on;
  std::ofstream(on.folder / "net.onnx", std::ios::binary) << network();
  auto graph = tenon::onnx::load(on.host, on.folder / "net.onnx");
  CHECK(graph.variables().size() == 5);
  REQUIRE(graph.states().size() == 2);
  CHECK(graph.tensor("norm_moving_var").values<float>()[0] == 2);
  const auto label = graph.input("label", tenon::i64, {tenon::unknown});
  graph.output("loss", graph.add("softmax_cross_entropy", {graph.find("dense"), label}));

  tenon::TrainerOptions options;
  options.loss = "loss", options.scores = "scores", options.label = "label";
  options.schedule.rate = 0.05;
  options.batch = 16;
  tenon::Trainer trainer(graph, images(32), options);
  const auto before = trainer.evaluate(images(32));
  for (int i = 0; i < 60; ++i) trainer.step();
  const auto after = trainer.evaluate(images(32));
  CHECK(after.loss < 0.5 * before.loss);
  CHECK(after.accuracy == 1);

  trainer.graph().save(on.folder / "tuned.tenon");
  const auto tuned = tenon::Graph::load(on.host, on.folder / "tuned.tenon");
  CHECK(tuned.tensor("norm_moving_mean").values<float>()[0] != 0.5F);
  CHECK(tuned.tensor("norm_moving_var").values<float>()[0] != 2);
  const tenon::RunOptions request{.outputs = {"scores"}};
  const auto scores = [&](const tenon::Graph& of) {
    return tenon::Session(of).run({{"x", images(4).at("x")}}, request).at("scores");
  };
  const auto there = scores(tuned), here = scores(trainer.graph());
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(there.values<float>()[i] == doctest::Approx(here.values<float>()[i]).epsilon(1e-4));
}

TEST_CASE("fine-tuning: rejects a model exported for training, which drops in every run") {
  const auto failure = failure_of([] {
    OnnxHost on;
    const auto yes = onnx_bytes::tensor("yes", 9, {}, onnx_bytes::raw_data(std::string(1, '\1')));
    on.load({{NodeFields{"Dropout", {"x", "", "yes"}, {"y"}}}, {yes}});
  });
  CHECK(failure.message.find("its training_mode is true") != std::string::npos);
}

}  // namespace fine_tuning_tests

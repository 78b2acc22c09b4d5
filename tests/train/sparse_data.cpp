// Linear models of csr examples (the digits, with about half of the pixels 0), compared with the
// same training on dense ones.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/cast_storage.hpp>

#include "digits.hpp"

using namespace tenon;

namespace {

const std::string linear_json = R"({"tenon": 1,
 "inputs": {"image": {"dtype": "float32", "shape": [-1, 64]},
            "label": {"dtype": "uint8", "shape": [-1]}},
 "variables": {"weight": {"dtype": "float32", "shape": [64, 10]},
               "bias": {"dtype": "float32", "shape": [10]}},
 "nodes": [
   {"name": "product", "op": "matmul", "inputs": ["image", "weight"]},
   {"name": "scores", "op": "add", "inputs": ["product", "bias"]},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}})";

/// Rows [begin, end) of the digits, scaled to [0, 1].
NamedTensors scaled_digits(std::int64_t begin, std::int64_t end, Storage storage) {
  auto data = digits(begin, end);
  std::vector<float> pixels;
  for (const auto pixel : data.at("image").values<std::uint8_t>())
    pixels.push_back(static_cast<float>(pixel) / 16);
  data["image"] = cast_storage(Tensor::from(pixels, data.at("image").shape()), storage);
  return data;
}

TrainerOptions linear_options(const std::string& optimizer) {
  auto options = digits_options();
  options.optimizer = optimizer;
  options.schedule.rate = optimizer == "sgd" ? 0.5 : 0.01;
  return options;
}

Tensor trained_weight(Storage storage, const TrainerOptions& options, int steps) {
  DigitsHost strict(2, true);
  Trainer trainer(Graph::from_json(strict.host, linear_json), scaled_digits(0, 1500, storage),
                  options);
  for (int i = 0; i < steps; ++i) trainer.step();
  return trainer.graph().tensor(trainer.graph().find("weight")).clone();
}

}  // namespace

TEST_CASE("csr examples: every step equals that of dense examples up to rounding") {
  for (const std::string optimizer : {"sgd", "adam", "adagrad"})
    for (const std::int64_t accumulate : {1, 2}) {
      CAPTURE(optimizer);
      auto options = linear_options(optimizer);
      options.accumulate = accumulate;
      options.clip_norm = 1;
      options.parameters = {{"lazy_update", false}};
      const auto sparse = trained_weight(Storage::csr, options, 40),
                 dense = trained_weight(Storage::dense, options, 40);
      for (std::size_t i = 0; i < 640; ++i)
        CHECK(sparse.values<float>()[i] == doctest::Approx(dense.values<float>()[i]).epsilon(1e-3));
    }
}

TEST_CASE(
    "csr examples: a linear model learns to classify digits, and unused pixels keep their initial "
    "weights") {
  DigitsHost strict(2, true);
  Trainer trainer(Graph::from_json(strict.host, linear_json), scaled_digits(0, 1500, Storage::csr),
                  linear_options("adam"));
  const auto weight_now = [&] { return trainer.graph().tensor(trainer.graph().find("weight")); };
  const auto begin = weight_now();
  while (trainer.epoch() < 20) trainer.step();
  const auto weight = weight_now();
  CHECK(*trainer.evaluate(scaled_digits(1500, 1797, Storage::csr)).accuracy > 0.88);
  CHECK(*trainer.evaluate(scaled_digits(1500, 1797, Storage::dense)).accuracy > 0.88);
  const auto images = scaled_digits(0, 1500, Storage::dense).at("image");
  for (std::size_t pixel = 0; pixel < 64; ++pixel) {
    double most = 0;
    for (std::size_t row = 0; row < 1500; ++row)
      most = std::max(most, static_cast<double>(images.values<float>()[64 * row + pixel]));
    bool moved = false;
    for (std::size_t k = 10 * pixel; k < 10 * pixel + 10; ++k)
      moved = moved || weight.values<float>()[k] != begin.values<float>()[k];
    CHECK(moved == (most > 0));
  }
}

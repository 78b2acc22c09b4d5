// A classifier of short texts: the mean of their words' rows in a table, followed by a layer.
#pragma once
#include <random>
#include <string>
#include <tenon/host/tensor.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

struct WordsModel {
  std::int64_t words = 200, columns = 6;
  bool sparse_grad = true;

  std::string json() const {
    return R"({"tenon": 1,
 "inputs": {"text": {"dtype": "int32", "shape": [-1, 5]},
            "label": {"dtype": "int32", "shape": [-1]}},
 "variables": {"table_weight": {"dtype": "float32", "init": {"uniform": [-0.1, 0.1]}}},
 "nodes": [
   {"name": "table", "op": "embedding", "inputs": ["text"], "attrs": {"input_dim": )" +
           std::to_string(words) + R"(, "output_dim": )" + std::to_string(columns) +
           R"(, "sparse_grad": )" + (sparse_grad ? "true" : "false") + R"(}},
   {"name": "mean", "op": "mean", "inputs": ["table"], "attrs": {"axis": [1]}},
   {"name": "scores", "op": "fully_connected", "inputs": ["mean"], "attrs": {"num_hidden": 3}},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}})";
  }

  /// Each text has words of one of three classes (word number modulo 3), and one random word.
  tenon::NamedTensors texts(std::int64_t count, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::vector<std::int32_t> text, label;
    for (std::int64_t i = 0; i < count; ++i) {
      label.push_back(static_cast<std::int32_t>(random() % 3));
      for (int place = 0; place < 5; ++place) {
        const auto any = static_cast<std::int64_t>(random() % static_cast<unsigned>(words / 3));
        const auto of =
            place == 0 ? static_cast<std::int64_t>(random() % 3) : std::int64_t{label.back()};
        text.push_back(static_cast<std::int32_t>(3 * any + of));
      }
    }
    return {{"text", tenon::Tensor::from(text, {count, 5})},
            {"label", tenon::Tensor::from(label, {count})}};
  }

  static tenon::TrainerOptions options(const std::string& optimizer = "adam") {
    tenon::TrainerOptions options;
    options.loss = "loss";
    options.scores = "scores";
    options.label = "label";
    options.optimizer = optimizer;
    options.schedule.rate = optimizer == "sgd" ? 0.5 : 0.02;
    options.batch = 16;
    options.seed = 3;
    return options;
  }
};

// Small networks for the training tests, which classify handwritten digits.
#pragma once
#include <map>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>
#include <utility>

#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"
#include "file/array/npy.hpp"
#include "graph/model.hpp"
#include "run/impl_access.hpp"

struct DigitsHost {
  TemporaryFolder cache;
  tenon::Host host;

  explicit DigitsHost(int threads = 2, bool strict_storage = false)
      : host(options(threads, strict_storage)) {
    host.add_plugins(TENON_TEST_PLUGINS);
  }

 private:
  tenon::HostOptions options(int threads, bool strict_storage) const {
    auto options = plugin_options(cache);
    options.threads = threads;
    options.strict_storage = strict_storage;
    return options;
  }
};

/// Rows [begin, end) of the digits.
inline tenon::NamedTensors digits(std::int64_t begin, std::int64_t end) {
  const std::string folder = TENON_TEST_DATA;
  const auto rows = [&](const tenon::Tensor& all) {
    auto shape = all.shape();
    const auto row = all.bytes() / shape[0];
    shape.set(0, end - begin);
    auto* first = static_cast<unsigned char*>(all.data()) + begin * row;
    return tenon::Tensor::borrow(first, all.dtype(), shape, {},
                                 std::make_shared<tenon::Tensor>(all));
  };
  return {{"image", rows(tenon::read_npy(folder + "/digits_images.npy"))},
          {"label", rows(tenon::read_npy(folder + "/digits_labels.npy"))}};
}

/// Two layers with dropout in between: random numbers in every step.
inline const std::string mlp_json = R"({"tenon": 1,
 "inputs": {"image": {"dtype": "uint8", "shape": [-1, 64]},
            "label": {"dtype": "uint8", "shape": [-1]}},
 "nodes": [
   {"name": "pixels", "op": "cast", "inputs": ["image"], "attrs": {"dtype": "float32"}},
   {"name": "scaled", "op": "quadratic", "inputs": ["pixels"], "attrs": {"b": 0.0625}},
   {"name": "fc1", "op": "fully_connected", "inputs": ["scaled"], "attrs": {"num_hidden": 32}},
   {"name": "act", "op": "relu", "inputs": ["fc1"]},
   {"name": "drop", "op": "dropout", "inputs": ["act"], "attrs": {"p": 0.1}},
   {"name": "scores", "op": "fully_connected", "inputs": ["drop"], "attrs": {"num_hidden": 10}},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}})";

/// A convolution with batch normalization: states that training changes.
inline const std::string convnet_json = R"({"tenon": 1,
 "inputs": {"image": {"dtype": "uint8", "shape": [-1, 64]},
            "label": {"dtype": "uint8", "shape": [-1]}},
 "nodes": [
   {"name": "pixels", "op": "cast", "inputs": ["image"], "attrs": {"dtype": "float32"}},
   {"name": "square", "op": "reshape", "inputs": ["pixels"], "attrs": {"shape": [-1, 1, 8, 8]}},
   {"name": "conv", "op": "convolution", "inputs": ["square"],
    "attrs": {"num_filter": 8, "kernel": [3, 3], "pad": [1, 1], "no_bias": true}},
   {"name": "norm", "op": "batch_norm", "inputs": ["conv"]},
   {"name": "act", "op": "relu", "inputs": ["norm"]},
   {"name": "pool", "op": "max_pool", "inputs": ["act"],
    "attrs": {"kernel": [2, 2], "stride": [2, 2]}},
   {"name": "scores", "op": "fully_connected", "inputs": ["pool"], "attrs": {"num_hidden": 10}},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}})";

inline tenon::TrainerOptions digits_options() {
  tenon::TrainerOptions options;
  options.loss = "loss";
  options.scores = "scores";
  options.label = "label";
  options.schedule.rate = 3e-3;
  options.batch = 64;
  options.seed = 5;
  return options;
}

/// Copies of a graph's variables and states.
inline std::map<std::string, tenon::Tensor> values_of(const tenon::Graph& graph) {
  std::map<std::string, tenon::Tensor> values;
  const auto& model = model_of(graph);
  for (const auto& value : model.values)
    if (value.role == tenon::Role::variable || value.role == tenon::Role::state)
      values[std::string(model.strings[value.name])] = model.tensors.at(value.tensor).clone();
  return values;
}

inline bool same_values(const std::map<std::string, tenon::Tensor>& left,
                        const std::map<std::string, tenon::Tensor>& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [name, tensor] : left)
    if (!right.contains(name) || !same_bits(tensor, right.at(name))) return false;
  return true;
}

// A training of 12 steps whose kernel fails in one of them.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/training/line_workplace.hpp"

/// A line with a normalization, whose running mean and variance are states, followed by a node 'a'
/// that fails.
class FailingTraining : public LineWorkplace {
 public:
  explicit FailingTraining(const std::string& deed) {
    write("line.json", R"({"tenon": 1,
 "inputs": {"x": {"dtype": "float32", "shape": [-1, 1]},
            "y": {"dtype": "float32", "shape": [-1, 1]}},
 "nodes": [
   {"name": "line", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 1}},
   {"name": "norm", "op": "batch_norm", "inputs": ["line"]},
   {"name": "a", "op": "ends_process", "inputs": ["y"], "attrs": {"deed": ")" +
                           deed + R"("}},
   {"name": "loss", "op": "mean_squared_error", "inputs": ["norm", "a"]}],
 "outputs": {"loss": "loss"}})");
  }
  /// Fails in the first call after this many.
  ProgramResult train_until(int steps, const Words& more = {}) const {
    Words words{"--epochs",
                "4",
                "--checkpoint",
                "c.tenon",
                "--metrics",
                "m.jsonl",
                "-o",
                "m.tenon",
                "--trust-writable",
                "--threads",
                "1",
                "--plugins",
                fault("ends_process")};
    words.insert(words.end(), more.begin(), more.end());
    return train_in(words, {.environment = {{"TENON_FAULT_AFTER", std::to_string(steps)}}});
  }
  /// An undisturbed training is the same as far as the name of the fault, which the files contain,
  /// permits.
  static std::vector<std::string> undisturbed(const std::string& deed) {
    const FailingTraining site(deed);
    const auto result = site.train_until(1000);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return site.written();
  }
  std::vector<std::string> written() const {
    std::vector<std::string> bytes;
    for (const char* name : {"m.tenon", "c.tenon", "m.jsonl"})
      bytes.push_back(std::filesystem::exists(folder() / name) ? read_bytes(folder() / name) : "");
    return bytes;
  }
  std::ptrdiff_t steps_of_metrics() const {
    const auto metrics = read_bytes(folder() / "m.jsonl");
    return std::count(metrics.begin(), metrics.end(), '\n');
  }
};

/// Arguments of a training whose update fails in the call after TENON_FAULT_AFTER, between two
/// variables, with a checkpoint per epoch.
inline Words failing_update(const Words& more = {}) {
  Words words{"--plugins",
              fault("fails_to_update"),
              "--trust-writable",
              "--optimizer",
              "fails_to_update",
              "--epochs",
              "4",
              "-o",
              "m.tenon",
              "--checkpoint",
              "c.tenon",
              "--checkpoint-every",
              "4"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

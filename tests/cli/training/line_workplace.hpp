// A folder in which a line is trained.
#pragma once
#include "cli/workplace.hpp"

/// y = x * w, with a loss; 8 examples of x and y.
struct LineWorkplace : Workplace {
  LineWorkplace() {
    write("line.json", R"({"tenon": 1,
 "inputs": {"x": {"dtype": "float32", "shape": [-1, 1]},
            "y": {"dtype": "float32", "shape": [-1, 1]}},
 "nodes": [
   {"name": "line", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 1}},
   {"name": "loss", "op": "mean_squared_error", "inputs": ["line", "y"]}],
 "outputs": {"loss": "loss", "line": "line"}})");
    std::string xs, ys;
    for (int i = 0; i < 8; ++i)
      xs += bytes_of(static_cast<float>(i) / 4 - 1),
          ys += bytes_of(2 * (static_cast<float>(i) / 4 - 1) + 0.5F);
    write("xs.npy", npy_bytes("<f4", "(8, 1)", 0) + xs);
    write("ys.npy", npy_bytes("<f4", "(8, 1)", 0) + ys);
  }
  static std::string bytes_of(float number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
  }

  static Words training(const Words& more) {
    Words arguments{"train",  "line.json", "--data",  "x=xs.npy",
                    "--data", "y=ys.npy",  "--batch", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  ProgramResult train(const Words& more) const { return run(training(more)); }
  ProgramResult train_in(const Words& more, const ProgramPlace& place) const {
    return run_in(training(more), place);
  }
};

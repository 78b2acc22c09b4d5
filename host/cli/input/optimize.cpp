#include "cli/input/optimize.hpp"

#include <tenon/host/failure.hpp>

namespace tenon::cli {

std::vector<Option> optimize_options() {
  return {{"no-optimize", "", "run the graph as it is written: no node is replaced, joined with others or dropped"},
          {"exact", "", "optimize only by what changes no bit of the results"}};
}

Optimize read_optimize(const Arguments& arguments) {
  if (arguments.has("no-optimize") && arguments.has("exact"))
    throw Failure(FailureKind::usage, "--no-optimize and --exact cannot be used together",
                  "leave one of the two out; without optimization, results are exact, too");
  if (arguments.has("no-optimize")) return Optimize::none;
  return arguments.has("exact") ? Optimize::exact : Optimize::full;
}

Option precision_option() {
  return {"precision", "DTYPE", "round what products and convolutions of float32 multiply, and add in float32: bf16, where the machine can",
          Choice{{"f32", "bf16"}}, "f32"};
}

DType read_precision(const Arguments& arguments) {
  return arguments.get("precision") == "bf16" ? bf16 : f32;
}

}  // namespace tenon::cli

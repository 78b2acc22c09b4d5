#include "cli/input/optimize.hpp"

#include <tenon/host/failure.hpp>

namespace tenon::cli {

std::vector<Option> optimize_options() {
  return {{"no-optimize", "", "run the original graph: replace, fuse and remove no nodes"},
          {"exact", "", "apply only optimizations that keep results bit-identical"}};
}

Optimize read_optimize(const Arguments& arguments) {
  if (arguments.has("no-optimize") && arguments.has("exact"))
    throw Failure(FailureKind::usage, "--no-optimize and --exact cannot be used together",
                  "remove one of them; results are also exact without optimization");
  if (arguments.has("no-optimize")) return Optimize::none;
  return arguments.has("exact") ? Optimize::exact : Optimize::full;
}

Option precision_option() {
  return {"precision", "DTYPE",
          "precision of float32 matrix products and convolutions; bf16 rounds their factors and "
          "accumulates in float32, if the CPU supports it",
          Choice{{"f32", "bf16"}}, "f32"};
}

DType read_precision(const Arguments& arguments) {
  return arguments.get("precision") == "bf16" ? bf16 : f32;
}

}  // namespace tenon::cli

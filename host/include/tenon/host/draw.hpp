// Text pictures of graphs, of plans' memory and of trainings.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

namespace tenon {

/// A graph in graphviz's DOT language: nodes with their operator and non-default parameters, edges
/// with dtype and shape. Needs no plugins.
TENON_API std::string draw_graph(const Graph& graph);

/// A plan's memory as SVG: steps on the horizontal axis, offsets on the vertical one, a box for
/// each value with its name, bytes and steps as the title; workspaces are grey. The dashed line is
/// the lower bound. Throws Failure (usage) if a value is in an arena that the plan does not have.
TENON_API std::string draw_memory(const PlanInfo& plan);

/// The results of one epoch of a training. Means over the examples.
struct EpochMetrics {
  std::uint64_t epoch = 0;  ///< the first is 0
  Metrics training{};
  std::optional<Metrics> validation{};
};

/// Aggregates a training's steps into epochs.
class TENON_API LearningCurves {
 public:
  void add_step(
      const StepReport& report);  ///< adds to the report's epoch, weighted by its examples
  void add_validation(std::uint64_t epoch, const Metrics& metrics);
  std::vector<EpochMetrics> epochs()
      const;  ///< in order; the training loss of an epoch without steps is NaN

 private:
  struct Sums {
    double loss = 0, right = 0;               // weighted by examples
    std::int64_t examples = 0, answered = 0;  // answered: examples with an accuracy
    std::optional<Metrics> validation;
  };
  std::map<std::uint64_t, Sums> epochs_;
};

/// Reads the JSON lines that `tenon train --metrics` writes. Ignores a truncated last line. Throws
/// Failure (file), with the line number, for other invalid lines.
TENON_API LearningCurves read_curves(const std::filesystem::path& metrics);

/// Loss over the epochs as SVG with, if available, accuracy next to it.
TENON_API std::string draw_curves(std::span<const EpochMetrics> epochs);

/// A confusion matrix as SVG: a row for each true class, a column for each predicted class, darker
/// for larger counts. `counts`: [classes, classes], of an integer dtype, on the CPU. `names`: of
/// the classes; empty: their numbers. Throws Failure (usage) for other tensors, and if the number
/// of names differs.
TENON_API std::string draw_confusion(const Tensor& counts, std::span<const std::string> names = {});

}  // namespace tenon

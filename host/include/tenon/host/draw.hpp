// Pictures of graphs, of plans' memory and of trainings, as text.
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

/// A graph in the DOT language, which graphviz draws: nodes with operator and parameters that are not the default, edges with dtype and
/// shape. No plugin is needed.
TENON_API std::string draw_graph(const Graph& graph);

/// A plan's memory as SVG: steps across, offset up, a box for each value with its name, bytes and steps as the title; workspaces are grey.
/// The dashed line is the lower bound. Throws Failure (usage) if something lies in an arena that the plan lacks.
TENON_API std::string draw_memory(const PlanInfo& plan);

/// What one epoch of a training came to. Means over the examples.
struct EpochMetrics {
  std::uint64_t epoch = 0;  ///< the first is 0
  Metrics training{};
  std::optional<Metrics> validation{};
};

/// Collects a training's steps as epochs.
class TENON_API LearningCurves {
 public:
  void add_step(const StepReport& report);  ///< counts in the report's epoch, weighted by its examples
  void add_validation(std::uint64_t epoch, const Metrics& metrics);
  std::vector<EpochMetrics> epochs() const;  ///< in their order; the training loss of an epoch without steps is NaN

 private:
  struct Sums {
    double loss = 0, right = 0;               // weighted by examples
    std::int64_t examples = 0, answered = 0;  // answered: those whose right answers were counted
    std::optional<Metrics> validation;
  };
  std::map<std::uint64_t, Sums> epochs_;
};

/// From the JSON lines that `tenon train --metrics` writes. A last line that was cut short is left out. Throws Failure (file), with the
/// line's number, for other lines.
TENON_API LearningCurves read_curves(const std::filesystem::path& metrics);

/// Loss over the epochs as SVG and, if there are accuracies, those beside it.
TENON_API std::string draw_curves(std::span<const EpochMetrics> epochs);

/// A confusion table as SVG: a row for each true class, a column for each predicted one, darker where there are more. `counts` [classes,
/// classes], of an integer dtype, on the CPU. `names`: of the classes; empty: their numbers. Throws Failure (usage) for other tensors and
/// numbers of names.
TENON_API std::string draw_confusion(const Tensor& counts, std::span<const std::string> names = {});

}  // namespace tenon

// Pictures of graphs, of plans' memory and of trainings, as text.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tenon/graph.hpp>
#include <tenon/plan_info.hpp>
#include <tenon/trainer.hpp>

namespace tenon {

/// A graph in the DOT language, which graphviz draws: nodes with operator and parameters that are not the default, edges with dtype and
/// shape. No plugin is needed.
std::string draw_graph(const Graph& graph);

/// A plan's memory as SVG: steps across, offset up, a box for each value with its name, bytes and steps as the title; workspaces are grey.
/// The dashed line is the lower bound.
std::string draw_memory(const PlanInfo& plan);

/// What one epoch of a training came to. Means over the examples.
struct EpochMetrics {
  std::uint64_t epoch = 0;  ///< the first is 0
  Metrics training{};
  std::optional<Metrics> validation{};
};

/// Loss over the epochs as SVG and, if there are accuracies, those beside it.
std::string draw_curves(std::span<const EpochMetrics> epochs);

/// A confusion table as SVG: a row for each true class, a column for each predicted one, darker where there are more. `counts` [classes,
/// classes], of an integer dtype, on the CPU. `names`: of the classes; empty: their numbers. Throws Failure (usage) for other tensors and
/// numbers of names.
std::string draw_confusion(const Tensor& counts, std::span<const std::string> names = {});

}  // namespace tenon

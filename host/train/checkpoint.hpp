// Converts between a running training and its record in a checkpoint.
#pragma once
#include <filesystem>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <utility>
#include <vector>

#include "graph/model.hpp"
#include "train/training_graphs.hpp"

namespace tenon {

/// The options, besides optimizer, parameters and seed, that affect the bits of a training, as far
/// as its schedule uses them: names and values as text.
std::vector<std::pair<std::string, std::string>> settings_of(const TrainerOptions& options,
                                                             std::int64_t examples);

/// A node as text: its operator, parameters and inputs.
std::string outline_of(const GraphModel& model, const NodeRecord& node);

/// Adds the record to a graph that is about to be saved: the optimizer's parameters and the states
/// of its nodes.
void add_record(Graph& graph, const Session& update, const std::vector<TrainedVariable>& trained,
                const TrainerOptions& options, std::int64_t examples, TrainingRecord where);

/// Throws Failure if the checkpoint belongs to another graph (file), or has another optimizer,
/// other parameters or another seed (usage).
void check_record(const Graph& checkpoint, const Graph& forward, const Graph& update,
                  const std::vector<TrainedVariable>& trained, const TrainerOptions& options,
                  const std::filesystem::path& path);

/// Warns once about each option that differs from the checkpoint's. Files older than 0.2 do not
/// hold options.
void warn_of_changes(const Graph& checkpoint, const TrainerOptions& options, std::int64_t examples,
                     const std::filesystem::path& path);

/// A tensor of the checkpoint, and the tensor of this training that gets its elements.
struct RestoredTensor {
  Tensor from, to;
};

/// Adds the variables and states of `forward` to `restored`. Throws Failure (file) if the
/// checkpoint lacks one or its type differs.
void find_values(const Graph& checkpoint, const Graph& forward, const std::filesystem::path& path,
                 std::vector<RestoredTensor>& restored);

/// Adds the states of the optimizers' nodes to `restored`. Throws Failure (file) if the checkpoint
/// lacks one, has others, or a type differs.
void find_slots(const Graph& checkpoint, const Session& update,
                const std::vector<TrainedVariable>& trained, const std::filesystem::path& path,
                std::vector<RestoredTensor>& restored);

}  // namespace tenon

// Checks that processes of a distributed training do the same work; otherwise they would silently
// add gradients of different models.
#pragma once
#include <string>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>
#include <utility>
#include <vector>

#include "graph/model.hpp"
#include "train/processes.hpp"

namespace tenon {

/// Names and values, both readable, that must be equal in all processes.
using Configuration = std::vector<std::pair<std::string, std::string>>;

/// Adds the options, graph, plugins and data of a training. Only the first and last rows of the
/// data are read.
void add_configuration(Configuration& configuration, const GraphModel& model,
                       const TrainerOptions& options, const NamedTensors& data,
                       std::int64_t examples);

/// Throws SharedFailure in all processes, naming the first one that differs from rank 0 and
/// the entry of the configuration.
void check_consistent(Processes& processes, const Configuration& configuration);

/// Throws SharedFailure in all processes if elements of the tensors differ from those of rank 0.
/// `since`: when they last agreed, as the end of a sentence.
void check_consistent_elements(Processes& processes,
                               const std::vector<std::pair<std::string, Tensor>>& tensors,
                               const std::string& since);

}  // namespace tenon

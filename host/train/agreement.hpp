// Whether processes that train together do the same: they would go on for days with sums of different things.
#pragma once
#include <string>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>
#include <utility>
#include <vector>

#include "graph/model.hpp"
#include "train/processes.hpp"

namespace tenon {

/// What is the same in all processes, with a name for people.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Of a training: options, graph, plugins and data. Of the data's elements only those of the first and the last rows are read.
void add_facts(Facts& facts, const GraphModel& model, const TrainerOptions& options, const NamedTensors& data, std::int64_t examples);

/// Throws SharedFailure in all processes, naming the first one that differs from rank 0 and in what.
void require_same(Processes& processes, const Facts& facts);

/// Throws SharedFailure in all processes where the elements of the tensors differ from those of rank 0. `since`: when they agreed, as the
/// end of a sentence.
void require_same_elements(Processes& processes, const std::vector<std::pair<std::string, Tensor>>& tensors, const std::string& since);

}  // namespace tenon

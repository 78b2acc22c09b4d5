// Runs a graph on arrays of any length, batch by batch.
#pragma once
#include <cstdint>
#include <tenon/host/api.hpp>
#include <tenon/host/session.hpp>

namespace tenon {

/// Splits the inputs whose first dimension the graph leaves open (-1) into batches of `batch` rows, the last of which may be smaller, and
/// runs the graph once for each. A batch is widened to its input's dtype if nothing is lost, such as uint8 to float32. All other inputs go
/// to each run as they are. Joins the outputs along their first axis, on the CPU. They equal those of a single run if no operator combines
/// rows or draws random numbers: each batch is a step of its own. `options` must not have destinations. Throws Failure (usage) before the
/// first run if the inputs differ in their numbers of rows, or if an output does not have one row for each of theirs; and as Session::run.
TENON_API NamedTensors run_in_batches(Session& session, const NamedTensors& inputs, std::int64_t batch, const RunOptions& options = {});

}  // namespace tenon

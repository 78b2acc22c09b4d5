// Runs a graph on arrays of any length, piece by piece.
#pragma once
#include <cstdint>
#include <tenon/session.hpp>

namespace tenon {

/// One run for every `batch` rows of the inputs whose first dimension the graph leaves open, the last one for the rows that remain; every
/// other input is given whole to each run. The outputs are joined along their first axis, on the CPU, and are those of a single run where
/// no operator looks at several rows at once. Throws Failure (usage) before anything runs where the inputs differ in their rows, or where
/// an output does not have a row for each of theirs; and as Session::run. `options` may not have destinations.
NamedTensors run_in_batches(Session& session, const NamedTensors& inputs, std::int64_t batch, const RunOptions& options = {});

}  // namespace tenon

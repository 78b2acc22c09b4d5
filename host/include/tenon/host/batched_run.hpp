// Runs a graph on arrays of any length, batch by batch.
#pragma once
#include <cstdint>
#include <functional>
#include <tenon/host/api.hpp>
#include <tenon/host/session.hpp>

namespace tenon {

/// One of `count` pieces of the batches of a run, each of which may be computed by another process: neighbouring batches, whole ones, as
/// many in each as in every other, or one more in the first ones. The pieces' outputs, joined, are those of the whole run.
struct Shard {
  std::int64_t index = 0;  ///< from 0 to below count
  std::int64_t count = 1;
};

/// Splits the inputs whose first dimension the graph leaves open (-1) into batches of `batch` rows, the last of which may be smaller, and
/// runs the graph once for each. A batch is widened to its input's dtype if nothing is lost, such as uint8 to float32. All other inputs go
/// to each run as they are. Joins the outputs along their first axis, on the CPU. They equal those of a single run if no operator combines
/// rows or draws random numbers: each batch is a step of its own, also in a shard. `options` must not have destinations. Throws Failure
/// (usage) before the first run if the inputs differ in their numbers of rows, if an output does not have one row for each of theirs,
/// or if there is no such shard; otherwise as Session::run does.
TENON_API NamedTensors run_in_batches(Session& session, const NamedTensors& inputs, std::int64_t batch, const RunOptions& options = {},
                                      const Shard& shard = {});

/// The same without joining, for outputs that are longer than memory: `take(outputs, rows)` gets those of each batch, on the CPU, in order;
/// `rows` are those of all batches together. If there are no rows, it gets outputs without any, once.
TENON_API void run_each_batch(Session& session, const NamedTensors& inputs, std::int64_t batch,
                              const std::function<void(const NamedTensors& outputs, std::int64_t rows)>& take,
                              const RunOptions& options = {}, const Shard& shard = {});

}  // namespace tenon

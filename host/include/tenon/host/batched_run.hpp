// Runs a graph on arrays of any length, batch by batch.
#pragma once
#include <cstdint>
#include <functional>
#include <tenon/host/api.hpp>
#include <tenon/host/session.hpp>

namespace tenon {

/// One of `count` shards of a run's batches, each of which may be computed by another process. A
/// shard consists of consecutive whole batches; sizes differ by at most one, the first shards being
/// the larger ones. The concatenated outputs of all shards are those of the whole run.
struct Shard {
  std::int64_t index = 0;  ///< in [0, count)
  std::int64_t count = 1;
};

/// Splits the inputs whose first dimension is unknown (-1) into batches of `batch` rows, the last
/// of which may be smaller, and runs the graph once for each. A batch is widened to its input's
/// dtype if that is lossless, such as uint8 to float32. Other inputs are passed to each run
/// unchanged. Concatenates the outputs along their first axis, on the CPU. They equal those of a
/// single run if no operator combines rows or draws random numbers: each batch is a step of its
/// own, also in a shard. `options` must not have destinations. Throws Failure (usage) before the
/// first run if the inputs have different numbers of rows, if an output does not have one row for
/// each input row, or if there is no such shard; otherwise as Session::run does.
TENON_API NamedTensors run_in_batches(Session& session, const NamedTensors& inputs,
                                      std::int64_t batch, const RunOptions& options = {},
                                      const Shard& shard = {});

/// Like run_in_batches(), without concatenation: for outputs larger than memory. Calls
/// `take(outputs, rows)` with each batch's outputs, on the CPU, in order; `rows` is the total
/// number of rows of all batches. If there are no rows, calls it once with empty outputs.
TENON_API void run_each_batch(
    Session& session, const NamedTensors& inputs, std::int64_t batch,
    const std::function<void(const NamedTensors& outputs, std::int64_t rows)>& take,
    const RunOptions& options = {}, const Shard& shard = {});

}  // namespace tenon

// Runs a job over a whole output: element i of the output from element i of each source, all
// broadcast to the output's shape.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"
#include "chunks.hpp"
#include "job.hpp"
#include "memory_order.hpp"
#include "reader.hpp"
#include "writer.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

inline std::int64_t element_count(const tenon_dense& dense) {
  std::int64_t count = 1;
  for (int axis = 0; axis < dense.ndim; ++axis) count *= dense.shape[axis];
  return count;
}

/// Fast path for an output of one element whose sources have one each, all of the types that the
/// loop works on: graphs have many of these, so nothing is set up. Returns false if it does not
/// apply.
inline bool map_single(const Job& job) {
  const void* in[max_sources];
  if (static_cast<DType>(job.output->dtype) != job.result || job.write == Write::add) return false;
  for (int i = 0; i < job.source_count; ++i) {
    const tenon_tensor* tensor = job.sources[i];
    if (tensor && static_cast<DType>(tensor->dtype) != job.compute) return false;
    in[i] = tensor ? first_element(*tensor) : zero;
  }
  job.loop(job.op, in, first_element(*job.output), 1);
  return true;
}

/// Prefetches the lines that the block from `position` on will write. A loop that restarts for each
/// block would stall on them: the CPU predicts reads better than writes. Inlined because GCC drops
/// calls whose only effect is a prefetch.
[[gnu::always_inline]] inline void expect_writes(const Target& target, std::int64_t position,
                                                 std::int64_t end) {
  constexpr std::int64_t line = 64;
  const auto bytes = std::min(block, end - position) * target.operand.size;
  for (std::int64_t byte = 0; byte < bytes; byte += line)
    __builtin_prefetch(target.at(position) + byte, 1);
}

[[gnu::cold]] inline void map_chunk(const Job& job, const Sources& sources, const Target& target,
                                    std::int64_t begin, std::int64_t end) {
  Reader reader(sources);
  Writer writer(target);
  const bool ahead = target.operand.access == Access::flat && target.write != Write::add;
  for (std::int64_t position = begin; position < end; position += block) {
    const std::int64_t n = std::min(block, end - position);
    const void* const* in = reader.read(position, n);
    void* out = writer.buffer(position);
    if (ahead) expect_writes(target, position + n, end);
    job.loop(job.op, in, out, n);
    writer.write(position, out, n);
  }
}

inline void map_in_order(const Call& call, const Job& job, std::int64_t total) {
  const tenon_dense& out = job.output->dense;
  const Sources sources(job, out.shape, out.ndim);
  const Target target(job);
  const bool direct = sources.direct() && target.direct();
  for_each_chunk(call, total, grain, [&](std::int64_t begin, std::int64_t end) {
    if (!direct) return map_chunk(job, sources, target, begin, end);
    const void* in[max_sources];
    for (int i = 0; i < sources.count; ++i)
      in[i] = sources.source[i].operand.data + begin * sources.source[i].operand.size;
    job.loop(job.op, in, target.at(begin), end - begin);
  });
}

inline void map(const Call& call, const Job& job) {
  const std::int64_t total = element_count(job.output->dense);
  if (total == 0 || (total == 1 && map_single(job))) return;
  if (out_of_order(job.output->dense))
    return map_in_order(call, OrderedJob(job, job.output->dense).job(), total);
  map_in_order(call, job, total);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

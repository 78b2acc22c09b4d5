// A job over a whole output: element i of the output from element i of each source, all of them broadcast to the output's shape.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../call.hpp"
#include "job.hpp"
#include "reader.hpp"
#include "writer.hpp"

namespace tenon {
namespace [[gnu::visibility("hidden")]] elementwise {

inline std::int64_t element_count(const tenon_dense& dense) {
  std::int64_t count = 1;
  for (int axis = 0; axis < dense.ndim; ++axis) count *= dense.shape[axis];
  return count;
}

/// An output of one element: its sources have one each. Nothing is set up, for graphs have many of them and they are run one by one.
inline void map_single(const Job& job) {
  const void* in[max_sources];
  alignas(8) unsigned char converted[max_sources][8], result[8], before[8];
  for (int i = 0; i < job.source_count; ++i) {
    const tenon_tensor* tensor = job.sources[i];
    in[i] = tensor ? first_element(*tensor) : zero;
    if (!tensor || static_cast<DType>(tensor->dtype) == job.compute) continue;
    job.convert(static_cast<DType>(tensor->dtype), job.compute, in[i], converted[i], 1);
    in[i] = converted[i];
  }
  unsigned char* out = first_element(*job.output);
  const auto stored = static_cast<DType>(job.output->dtype);
  if (stored == job.result && job.write != Write::add) return job.loop(job.op, in, out, 1);
  job.loop(job.op, in, result, 1);
  if (job.write == Write::add) {
    const void* old = out;
    if (stored != job.result) job.convert(stored, job.result, out, before, 1), old = before;
    job.accumulate(old, result, 1);
  }
  if (stored != job.result) return job.convert(job.result, stored, result, out, 1);
  std::memcpy(out, result, size_of(stored));
}

inline void map_part(const Job& job, const Sources& sources, const Target& target, std::int64_t begin, std::int64_t end) {
  Reader reader(sources);
  Writer writer(target);
  for (std::int64_t position = begin; position < end; position += block) {
    const std::int64_t n = std::min(block, end - position);
    const void* const* in = reader.read(position, n);
    void* out = writer.place(position);
    job.loop(job.op, in, out, n);
    writer.write(position, out, n);
  }
}

inline void map(const Call& call, const Job& job) {
  const tenon_dense& out = job.output->dense;
  const std::int64_t total = element_count(out);
  if (total == 1) return map_single(job);
  if (total == 0) return;
  const Sources sources(job, out.shape, out.ndim);
  const Target target(job);
  const bool direct = sources.direct() && target.direct();
  call.parallel_for(total, grain, [&](std::int64_t begin, std::int64_t end) {
    if (!direct) return map_part(job, sources, target, begin, end);
    const void* in[max_sources];
    for (int i = 0; i < sources.count; ++i) in[i] = sources.source[i].operand.data + begin * sources.source[i].operand.size;
    job.loop(job.op, in, target.at(begin), end - begin);
  });
}

}  // namespace gnu::visibility("hidden")]]elementwise
}  // namespace tenon

// Parallel loops that share one function: each body that is passed to Call::parallel_for directly
// is compiled with its own error handling.
#pragma once

#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Runs chunk [begin, end) of a loop.
struct ChunkBody {
  const void* body;
  void (*run)(const void* body, std::int64_t begin, std::int64_t end);
};

[[gnu::noinline]] inline void run_chunks(const Call& call, std::int64_t n, std::int64_t grain,
                                         ChunkBody chunk) {
  call.parallel_for(
      n, grain, [&](std::int64_t begin, std::int64_t end) { chunk.run(chunk.body, begin, end); });
}

/// Calls body(begin, end) for chunks of [0, n), each of about `grain` indices.
template <class Body>
void for_each_chunk(const Call& call, std::int64_t n, std::int64_t grain, const Body& body) {
  run_chunks(call, n, grain, {&body, [](const void* self, std::int64_t begin, std::int64_t end) {
                                (*static_cast<const Body*>(self))(begin, end);
                              }});
}

/// The former name of for_each_chunk().
template <class Body>
[[deprecated("use for_each_chunk; until 0.4")]] void for_each_part(const Call& call, std::int64_t n,
                                                                   std::int64_t grain,
                                                                   const Body& body) {
  for_each_chunk(call, n, grain, body);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

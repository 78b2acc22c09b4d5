// Parallel loops on the host's threads, through the C boundary.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>  // for std::min: <algorithm> would cost each plugin 12,000 lines

#include "../abi.h"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

namespace detail {

/// The shared state of one loop.
template <class Body>
struct ParallelLoop {
  Body& body;
  const std::int64_t n, grain;
  std::atomic<bool> failed{false};
  std::exception_ptr
      failure{};  // written by the one thread that set failed, read when all are done

  std::int64_t chunks() const { return n / grain + (n % grain != 0 ? 1 : 0); }

  /// Runs chunks `first` to `last` (exclusive) unless one has thrown, which is checked before the
  /// first chunk and every 64 chunks.
  void run(std::int64_t first, std::int64_t last) noexcept {
    try {
      for (auto chunk = first; chunk < last && !failed.load(std::memory_order_relaxed);) {
        const std::int64_t stop = chunk + std::min<std::int64_t>(last - chunk, 64);
        for (; chunk < stop; ++chunk)
          body(chunk * grain, chunk * grain + std::min(grain, n - chunk * grain));
      }
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }
};

}  // namespace detail

/// For the SDK; authors call Call::parallel_for. Calls body(begin, end) for chunks of [0, n) on the
/// host's threads and on this one, and returns when all are done. n and grain are at least 1. The
/// host gets at most 65536 tasks: loops with more chunks combine consecutive ones, so that many
/// small chunks cost little.
///
/// Threads: body runs on several threads at once and must not write what another chunk reads or
/// writes. It sees all writes before the call, and the caller sees all of its writes afterwards. It
/// must not start threads or wait for any.
///
/// Errors: the first exception that a body throws is rethrown here, on the calling thread; chunks
/// that have not begun are skipped. No exception may pass through the host, whose code may come
/// from another compiler.
template <class Body>
void run_parallel(const tenon_call& call, std::int64_t n, std::int64_t grain, Body& body) {
  constexpr std::int64_t max_pieces = 65536;
  detail::ParallelLoop<Body> loop{body, n, grain};
  const std::int64_t chunks = loop.chunks();
  const tenon_body run = [](void* context, std::int64_t first, std::int64_t last) {
    static_cast<detail::ParallelLoop<Body>*>(context)->run(first, last);
  };
  call.host->parallel_for(&call, chunks, (chunks - 1) / max_pieces + 1, run, &loop);
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

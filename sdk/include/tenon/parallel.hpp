// A loop on the host's threads, through the C boundary.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>

#include "abi.h"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// For the SDK; authors call Call::parallel_for. Calls body(begin, end) for parts of [0, n) on the host's threads and on this one, and
/// returns when all are done. n and grain are at least 1.
///
/// Threads: body runs on several at once and must not write what another part reads or writes. It sees all writes before the call, and the
/// caller sees all of its writes afterwards. It must start no threads and wait for none.
///
/// Errors: the first exception that a body throws is thrown here, on the calling thread; parts that have not begun then do nothing. Nothing
/// may be thrown through the host, whose code may come from another compiler.
template <class Body>
void run_parallel(const tenon_call& call, std::int64_t n, std::int64_t grain, Body& body) {
  struct Loop {
    Body* body;
    std::atomic<bool> failed{false};
    std::exception_ptr failure;  // written by the one thread that set failed, read when all are done
  } loop{&body, {}, {}};
  const tenon_body part = [](void* context, std::int64_t begin, std::int64_t end) {
    auto& shared = *static_cast<Loop*>(context);
    if (shared.failed.load(std::memory_order_relaxed)) return;  // an earlier part threw
    try {
      (*shared.body)(begin, end);
    } catch (...) {
      if (!shared.failed.exchange(true)) shared.failure = std::current_exception();
    }
  };
  call.host->parallel_for(&call, n, grain, part, &loop);
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

// A loop on the host's threads, through the C boundary.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>

#include "abi.h"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Calls body(begin, end) for parts of [0, n) on the host's threads. The first exception thrown by a body ends the loop early and is thrown
/// here, on the calling thread: nothing may be thrown through the host.
template <class Body>
void run_parallel(const tenon_call& call, std::int64_t n, std::int64_t grain, Body& body) {
  struct Loop {
    Body* body;
    std::atomic<bool> failed{false};
    std::exception_ptr failure;  // written by the one thread that set failed, read when all are done
  } loop{&body, {}, {}};
  const tenon_body part = [](void* context, std::int64_t begin, std::int64_t end) {
    auto& shared = *static_cast<Loop*>(context);
    if (shared.failed.load(std::memory_order_relaxed)) return;
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

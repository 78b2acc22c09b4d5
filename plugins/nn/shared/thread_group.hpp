// Thread groups on a CUDA device, each of which processes one run of elements: a single thread for
// short runs, a thread block for long ones. Bodies are written once, for any group.
#pragma once
#include <cstdint>
#include <tenon/gpu/launch.hpp>
#include <type_traits>

/// A group of a single thread.
class SingleThread {
 public:
  TENON_DEVICE int thread() const { return 0; }
  TENON_DEVICE void sync() const {}
  template <class T, class Combine>
  TENON_DEVICE T reduce(T value, Combine) const {
    return value;
  }
  template <class T>
  TENON_DEVICE T sum(T value) const {
    return value;
  }
  template <class T>
  TENON_DEVICE T max(T value) const {
    return value;
  }
};

/// Number of threads of a group: thread t takes elements t, t + group_size, ...
template <class ThreadGroup>
inline constexpr int group_size =
    std::is_same_v<ThreadGroup, SingleThread> ? 1 : tenon::gpu::block_threads;

template <class Body>
struct SingleThreadBody {
  Body body;
  TENON_DEVICE void operator()(std::int64_t i) const { body(SingleThread(), i); }
};

/// Calls body(team, i) for each i in [0, count), with work for `length` elements each.
/// `neighbours`: corresponding elements of adjacent runs are adjacent in memory, so that threads
/// with one run each have coalesced accesses.
template <class Body>
void for_each_group(const tenon::Call& call, std::int64_t count, std::int64_t length,
                    bool neighbours, const Body& body) {
  if (length <= 32 || (neighbours && count >= 1 << 13))
    tenon::gpu::for_each(call, count, SingleThreadBody<Body>{body});
  else
    tenon::gpu::for_each_block(call, count, body);
}

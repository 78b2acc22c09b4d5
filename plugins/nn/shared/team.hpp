// Who works on one run of elements on a CUDA device: a thread where runs are short, a block of threads where they are long. Bodies are
// written once, for any team.
#pragma once
#include <cstdint>
#include <tenon/gpu/launch.hpp>
#include <type_traits>

/// A thread as a team of its own.
class Alone {
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

/// How many threads a team has: thread t takes elements t, t + team_size, ...
template <class Team>
inline constexpr int team_size = std::is_same_v<Team, Alone> ? 1 : tenon::gpu::block_threads;

template <class Body>
struct WorksAlone {
  Body body;
  TENON_DEVICE void operator()(std::int64_t i) const { body(Alone(), i); }
};

/// body(team, i) for each i in [0, count), each of which is `length` elements of work. `neighbours`: elements of runs next to each other
/// are neighbours in memory, so that threads that take a run each read them together.
template <class Body>
void for_each_team(const tenon::Call& call, std::int64_t count, std::int64_t length, bool neighbours, const Body& body) {
  if (length <= 32 || (neighbours && count >= 1 << 13))
    tenon::gpu::for_each(call, count, WorksAlone<Body>{body});
  else
    tenon::gpu::for_each_block(call, count, body);
}

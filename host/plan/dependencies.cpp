#include "plan/dependencies.hpp"

#include <algorithm>

namespace tenon {

static void join(std::vector<std::uint32_t>& clock, const std::vector<std::uint32_t>& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

DependencyTracker::DependencyTracker(std::uint32_t streams)
    : users_{{INT64_MIN, {0, 0, Clock(streams)}}}, known_(streams, Clock(streams)) {}

DependencyTracker::UsersByByte::iterator DependencyTracker::split(std::int64_t byte) {
  const auto found = std::prev(users_.upper_bound(byte));
  return found->first == byte ? found : users_.emplace(byte, found->second).first;
}

void DependencyTracker::need(const MemoryAccess& access, Clock& needed) {
  const auto end = split(access.end);
  for (auto at = split(access.begin); at != end; ++at) {
    const auto& users = at->second;
    needed[users.writer_stream] = std::max(needed[users.writer_stream], users.writer);
    if (access.written) join(needed, users.readers);
  }
}

// A write is ordered after all earlier uses, so waiting for it implies waiting for them.
void DependencyTracker::use(const MemoryAccess& access, std::uint32_t stream, std::uint32_t work) {
  const auto end = split(access.end), begin = split(access.begin);
  if (access.written) {
    begin->second = {stream, work, Clock(known_.size())};
    users_.erase(std::next(begin), end);
  } else {
    for (auto at = begin; at != end; ++at) at->second.readers[stream] = work;
  }
}

// Latest work first, because it may already wait for the others.
std::vector<std::uint32_t> DependencyTracker::add(std::uint32_t stream,
                                                  std::span<const MemoryAccess> accesses) {
  Clock needed(known_.size());
  for (const auto& access : accesses)
    if (access.begin < access.end) need(access, needed);
  auto& known = known_[stream];
  std::vector<std::uint32_t> waits;
  for (;;) {
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i] <= known[i]) needed[i] = 0;
    const auto latest = *std::max_element(needed.begin(), needed.end());
    if (latest == 0) break;
    waits.push_back(latest - 1);
    join(known, clocks_[latest - 1]);
  }
  const auto work = static_cast<std::uint32_t>(clocks_.size() + 1);
  known[stream] = work;
  clocks_.push_back(known);
  for (const auto& access : accesses)
    if (access.begin < access.end) use(access, stream, work);
  return waits;
}

void DependencyTracker::finished(std::uint32_t work) {
  for (auto& known : known_) join(known, clocks_[work]);
}

}  // namespace tenon

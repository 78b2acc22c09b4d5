#include "plan/waits.hpp"

#include <algorithm>

namespace tenon {

static void join(std::vector<std::uint32_t>& clock, const std::vector<std::uint32_t>& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

Waits::Waits(std::uint32_t streams) : users_{{INT64_MIN, {0, 0, Clock(streams)}}}, known_(streams, Clock(streams)) {}

Waits::UsersByByte::iterator Waits::split(std::int64_t byte) {
  const auto found = std::prev(users_.upper_bound(byte));
  return found->first == byte ? found : users_.emplace(byte, found->second).first;
}

void Waits::need(const Touch& touch, Clock& needed) {
  const auto end = split(touch.end);
  for (auto at = split(touch.begin); at != end; ++at) {
    const auto& users = at->second;
    needed[users.writer_stream] = std::max(needed[users.writer_stream], users.writer);
    if (touch.written) join(needed, users.readers);
  }
}

// Who writes has waited for all others, and so does whoever waits for it.
void Waits::use(const Touch& touch, std::uint32_t stream, std::uint32_t piece) {
  const auto end = split(touch.end), begin = split(touch.begin);
  if (touch.written) {
    begin->second = {stream, piece, Clock(known_.size())};
    users_.erase(std::next(begin), end);
  } else {
    for (auto at = begin; at != end; ++at) at->second.readers[stream] = piece;
  }
}

// The latest first, for it may have waited for the others.
std::vector<std::uint32_t> Waits::add(std::uint32_t stream, std::span<const Touch> touches) {
  Clock needed(known_.size());
  for (const auto& touch : touches)
    if (touch.begin < touch.end) need(touch, needed);
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
  const auto piece = static_cast<std::uint32_t>(clocks_.size() + 1);
  known[stream] = piece;
  clocks_.push_back(known);
  for (const auto& touch : touches)
    if (touch.begin < touch.end) use(touch, stream, piece);
  return waits;
}

void Waits::finished(std::uint32_t piece) {
  for (auto& known : known_) join(known, clocks_[piece]);
}

}  // namespace tenon

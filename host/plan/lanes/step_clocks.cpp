#include "plan/lanes/step_clocks.hpp"

#include <algorithm>

namespace tenon {

StepClocks::StepClocks(const StepOrder& order, const Lanes& lanes)
    : lanes_(lanes), places_(lanes.count), clocks_(std::size_t{order.count()} * lanes.count), waits_(order.count()) {
  for (std::uint32_t step = 0; step < order.count(); ++step) {
    const auto lane = lanes.lane_of[step];
    const auto now = clock(step);
    const auto join = [&](std::uint32_t earlier) {
      const auto other = clock(earlier);
      for (std::uint32_t i = 0; i < lanes.count; ++i) now[i] = std::max(now[i], other[i]);
    };
    if (!places_[lane].empty()) join(places_[lane].back());
    const auto before = order.before(step);
    for (auto earlier = before.rbegin(); earlier != before.rend(); ++earlier) {  // the latest first: it may have waited for the others
      if (place_[*earlier] < now[lanes.lane_of[*earlier]]) continue;
      waits_[step].push_back(*earlier);
      join(*earlier);
    }
    place_.push_back(static_cast<std::uint32_t>(places_[lane].size()));
    places_[lane].push_back(step);
    now[lane] = place_.back() + 1;
  }
}

std::uint32_t StepClocks::first_unordered(std::uint32_t step) const {
  auto first = step;
  const auto done = clock(step);
  for (std::uint32_t lane = 0; lane < lanes_.count; ++lane)
    if (done[lane] < places_[lane].size()) first = std::min(first, places_[lane][done[lane]]);
  return first;
}

}  // namespace tenon

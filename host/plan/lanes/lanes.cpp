#include "plan/lanes/lanes.hpp"

#include <algorithm>

#include "graph/model.hpp"

namespace tenon {
namespace {

/// Steps of which each follows the one before it and nothing else follows that.
struct Chain {
  std::uint32_t head;
  StepTime cost;
  std::uint32_t thread = 0, lane = 0;
  std::int64_t end = 0;
};

class Assignment {
 public:
  Assignment(const StepOrder& order, std::span<const StepTime> costs, int threads, int lanes_each)
      : order_(order),
        costs_(costs),
        lanes_each_(static_cast<std::uint32_t>(lanes_each)),
        free_(static_cast<std::size_t>(threads)),
        lanes_(static_cast<std::size_t>(threads * lanes_each)) {}

  Lanes run() {
    find_chains();
    for (std::uint32_t chain = 0; chain < chains_.size(); ++chain) assign(chain);
    return numbered();
  }

 private:
  struct Lane {
    std::int64_t load = 0;
    std::uint32_t last = none;    // of its chains
    std::uint32_t number = none;  // none: it has no chain
  };

  void find_chains();
  void assign(std::uint32_t chain);
  std::int64_t cost_at(const Chain& chain, std::int64_t begin) const;
  std::uint32_t choose_lane(const Chain& chain) const;
  Lanes numbered();

  const StepOrder& order_;
  const std::span<const StepTime> costs_;
  const std::uint32_t lanes_each_;
  std::vector<Chain> chains_;
  std::vector<std::uint32_t> chain_of_;  // of each step
  std::vector<std::int64_t> free_;       // from when on each thread is
  std::vector<Lane> lanes_;              // lanes_each_ of each thread
};

void Assignment::find_chains() {
  std::vector<std::uint32_t> followers(order_.count());
  for (std::uint32_t step = 0; step < order_.count(); ++step)
    for (const auto earlier : order_.before(step)) ++followers[earlier];
  for (std::uint32_t step = 0; step < order_.count(); ++step) {
    const auto before = order_.before(step);
    if (before.size() != 1 || followers[before[0]] != 1) {
      chain_of_.push_back(static_cast<std::uint32_t>(chains_.size()));
      chains_.push_back({step, {}});
    } else {
      chain_of_.push_back(chain_of_[before[0]]);
    }
    auto& cost = chains_[chain_of_[step]].cost;
    cost.alone += costs_[step].alone;
    cost.work += costs_[step].work;
  }
}

// Threads that have nothing to do help.
std::int64_t Assignment::cost_at(const Chain& chain, std::int64_t begin) const {
  const auto busy = std::count_if(free_.begin(), free_.end(), [&](std::int64_t time) { return time > begin; });
  return busy == 0 ? chain.cost.alone : chain.cost.work;
}

// What follows a lane's last chain stays there; else the lane of the thread with the least to do.
std::uint32_t Assignment::choose_lane(const Chain& chain) const {
  const auto first = chain.thread * lanes_each_;
  auto best = first;
  for (auto lane = first; lane < first + lanes_each_; ++lane) {
    for (const auto earlier : order_.before(chain.head))
      if (lanes_[lane].last == chain_of_[earlier]) return lane;
    if (lanes_[lane].load < lanes_[best].load) best = lane;
  }
  return best;
}

void Assignment::assign(std::uint32_t index) {
  auto& chain = chains_[index];
  chain.end = INT64_MAX;
  for (std::uint32_t thread = 0; thread < free_.size(); ++thread) {
    auto begin = free_[thread];
    for (const auto earlier : order_.before(chain.head)) {
      const auto& other = chains_[chain_of_[earlier]];
      begin = std::max(begin, other.end + (other.thread == thread ? 0 : handover));
    }
    if (const auto end = begin + cost_at(chain, begin); end < chain.end) {
      chain.end = end;
      chain.thread = thread;
    }
  }
  free_[chain.thread] = chain.end;
  chain.lane = choose_lane(chain);
  lanes_[chain.lane].load += chain.cost.work;
  lanes_[chain.lane].last = index;
}

Lanes Assignment::numbered() {
  Lanes lanes;
  for (const auto& cost : costs_) lanes.alone += cost.alone;
  for (const auto time : free_) lanes.together = std::max(lanes.together, time);
  for (const auto chain : chain_of_) {
    auto& number = lanes_[chains_[chain].lane].number;
    if (number == none) number = lanes.count++;
    lanes.lane_of.push_back(number);
  }
  return lanes;
}

}  // namespace

Lanes assign_lanes(const StepOrder& order, std::span<const StepTime> costs, int threads, int lanes_each) {
  return Assignment(order, costs, threads, lanes_each).run();
}

}  // namespace tenon

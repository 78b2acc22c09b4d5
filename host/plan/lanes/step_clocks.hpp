// What is done for certain when a step of a plan in lanes begins.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/lanes/lanes.hpp"

namespace tenon {

/// A vector clock for each step: how many steps of each lane are done when it begins, and of its own lane when it ends. Takes
/// steps * lanes * 4 bytes.
class StepClocks {
 public:
  StepClocks(const StepOrder& order, const Lanes& lanes);

  /// Whether the earlier step has ended whenever the later one begins.
  bool comes_before(std::uint32_t earlier, std::uint32_t later) const {
    return place_[earlier] < clock(later)[lanes_.lane_of[earlier]] && earlier != later;
  }
  /// The first step before this one that need not have ended when it begins; the step itself where there is none.
  std::uint32_t first_unordered(std::uint32_t step) const;
  /// The steps on other lanes that this one must wait for, since neither its lane nor another one of them has.
  const std::vector<std::uint32_t>& waits(std::uint32_t step) const { return waits_[step]; }

 private:
  std::span<const std::uint32_t> clock(std::uint32_t step) const {
    return {clocks_.data() + std::size_t{step} * lanes_.count, lanes_.count};
  }
  std::span<std::uint32_t> clock(std::uint32_t step) { return {clocks_.data() + std::size_t{step} * lanes_.count, lanes_.count}; }

  const Lanes& lanes_;
  std::vector<std::uint32_t> place_;                // of each step in its lane
  std::vector<std::vector<std::uint32_t>> places_;  // of each lane: its steps
  std::vector<std::uint32_t> clocks_;
  std::vector<std::vector<std::uint32_t>> waits_;
};

}  // namespace tenon

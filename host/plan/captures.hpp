// Stretches of a plan's steps that a GPU is asked for as one.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "device/captured.hpp"
#include "plan/turn.hpp"

namespace tenon {

/// Steps [begin, end), all of them kernels on the stream's device that only put work there, the same in every run.
struct Stretch {
  std::uint32_t begin, end;
  std::vector<Step> work;  // those steps, without their turn, which stays outside of what is captured
  const Turn* turn;
};

/// Captured work uses the memory and the ways of writing that it was captured with, which a key tells. A key's first run goes step by step,
/// which lets kernels set themselves up; its second one captures. Threads: one at a time.
class Captures {
 public:
  Captures(std::vector<Stretch> stretches, const std::vector<Step>& steps) : stretches_(std::move(stretches)), steps_(steps) {}

  /// What to call in a run with this key: the steps, or with calls in place of the stretches that do the same.
  const std::vector<Step>& steps_for(std::span<const std::uint64_t> key);
  bool contains(std::size_t step) const;
  /// Why nothing is captured any more; empty as long as it is.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Launch {
    Captured captured;
    const Turn& turn;
  };
  struct Variant {
    std::vector<std::uint64_t> key;
    std::deque<Launch> launches;  // one for each stretch
    std::vector<Step> steps;      // empty before it is captured
  };
  static std::int32_t launch(void* self, const tenon_call* call);
  void capture(Variant& variant);

  std::vector<Stretch> stretches_;
  const std::vector<Step>& steps_;  // of the plan
  std::deque<Variant> variants_;    // the oldest first
  std::string trouble_;
};

}  // namespace tenon

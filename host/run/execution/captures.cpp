#include "run/execution/captures.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <tenon/host/failure.hpp>

#include "run/execution/call_failure.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_variants =
    4;  // enough for memory that alternates, e.g. of two batches; more would rarely be reused
constexpr int max_failures = 3;
constexpr std::size_t max_thread_ids = 256;  // remembered ids

void run_step(const Step& step) {
  CallSequenceScope calls;
  calls.enter(step.running);
  if (step.function(step.instance, step.call) == 0) return;
  throw Failure(FailureKind::failed, step.call->error->text);
}

}  // namespace

const std::vector<Step>& Captures::steps_for(std::span<const std::uint64_t> key) {
  if (!failure_.empty()) return steps_;
  const auto found = std::find_if(variants_.begin(), variants_.end(), [&](const Variant& variant) {
    return std::equal(key.begin(), key.end(), variant.key.begin());
  });
  if (found == variants_.end()) {
    if (variants_.size() == max_variants) variants_.pop_front();
    variants_.push_back({{key.begin(), key.end()}, {}, {}});
    first_in_this_thread();
    return steps_;
  }
  if (found->steps.empty() && !first_in_this_thread()) capture(*found);
  return found->steps.empty() ? steps_ : found->steps;
}

// Returns true on a thread's first call.
bool Captures::first_in_this_thread() {
  if (ready_.size() == max_thread_ids) ready_.clear();
  return ready_.insert(std::this_thread::get_id()).second;
}

// If a kernel cannot be captured, all later runs execute step by step. A single failure is not
// proof: other code in this process that waits for the device breaks a capture in progress.
void Captures::capture(Variant& variant) {
  std::vector<Step> steps;
  std::uint32_t next = 0;
  try {
    for (const auto& segment : segments_) {
      steps.insert(steps.end(), steps_.begin() + next, steps_.begin() + segment.begin);
      const auto& stream = segment.sync->stream;
      stream.device().make_current();
      CapturedGraph captured(
          stream, [&] { std::for_each(segment.kernels.begin(), segment.kernels.end(), run_step); });
      variant.launches.push_back({std::move(captured), *segment.sync});
      const auto& first = segment.kernels.front();
      steps.push_back({launch, &variant.launches.back(), first.call, first.running});
      next = segment.end;
    }
    steps.insert(steps.end(), steps_.begin() + next, steps_.end());
    variant.steps = std::move(steps);
  } catch (const std::exception& failure) {
    variant.launches.clear();
    if (++failures_ == max_failures) failure_ = failure.what();
  }
}

std::int32_t Captures::launch(void* self, const tenon_call* call) {
  const auto& own = *static_cast<const Launch*>(self);
  return failure_to_call(*call, [&] {
    own.sync.begin();
    own.captured.launch();
    own.sync.end();
    return 0;
  });
}

}  // namespace tenon

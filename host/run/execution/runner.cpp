#include "run/execution/runner.hpp"

#include <algorithm>
#include <chrono>

#include "run/execution/step_walk.hpp"

namespace tenon {
namespace {

constexpr int measured_runs = 2, tried_runs = 6;
constexpr std::int64_t short_run = 20'000;      // nanoseconds: waking a thread takes longer than what it could save
constexpr std::int64_t assumed_cost = 100'000;  // of a step that was not measured

}  // namespace

void run_steps(Execution& execution, const std::stop_token& stop) {
  const bool may_stop = stop.stop_possible();
  StepWalk walk(execution);
  for (const auto& step : execution.start()) {
    if (may_stop) stop_where_asked(stop);
    walk.call(step);
  }
}

std::unique_ptr<Runner> Runner::of(Execution& execution, const Kernels& kernels, Threads& threads, LanePolicy policy, int pause) {
  if (policy == LanePolicy::never || threads.count() == 1 || execution.gpu() != nullptr || execution.plan().step_count() < 2)
    return nullptr;
  return std::make_unique<Runner>(execution, kernels, threads, policy, pause);
}

Runner::Runner(Execution& execution, const Kernels& kernels, Threads& threads, LanePolicy policy, int pause)
    : execution_(execution), kernels_(kernels), threads_(threads), policy_(policy), pause_(pause) {
  if (execution.plan().lanes.lanes > 0) lanes_.emplace(execution);
}

void Runner::run(const std::stop_token& stop) {
  if (lanes_) return run_in_lanes(stop);
  if (next_ || over_) return run_steps(execution_, stop);
  if (pause_ > 0) return --pause_, run_steps(execution_, stop);
  look(stop);
}

// A short run, or a plan with one order, ends the matter.
void Runner::look(const std::stop_token& stop) {
  if (runs_ == 0) {
    const auto begin = Clock::now();
    run_steps(execution_, stop);
    over_ = policy_ == LanePolicy::measured && std::chrono::nanoseconds(Clock::now() - begin).count() < short_run;
    ++runs_;
    if (over_ || !has_width()) over_ = true;
    if (!over_ && policy_ == LanePolicy::always) choose();
    return;
  }
  measure(stop);
  if (++runs_ > measured_runs) choose();
}

bool Runner::has_width() {
  order_ = order_of_steps(execution_.plan(), kernels_);
  costs_.assign(order_->count(), policy_ == LanePolicy::always ? StepTime{assumed_cost, assumed_cost} : StepTime{INT64_MAX, INT64_MAX});
  return order_->has_width();
}

void Runner::measure(const std::stop_token& stop) {
  const bool may_stop = stop.stop_possible();
  StepWalk walk(execution_);
  std::atomic<std::int64_t> helped = 0;
  const Execution::Helped counted(execution_, helped);
  auto before = Clock::now();
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (may_stop) stop_where_asked(stop);
    walk.call(execution_.steps()[i]);
    const auto now = Clock::now();
    const auto alone = std::chrono::nanoseconds(now - before).count();
    costs_[i].alone = std::min(costs_[i].alone, alone);
    costs_[i].work = std::min(costs_[i].work, alone + helped.exchange(0, std::memory_order_relaxed));
    before = now;
  }
}

void Runner::choose() {
  const auto& plan = execution_.plan();
  auto made = in_lanes(plan, *order_, costs_, {threads_.count(), policy_ == LanePolicy::always});
  if (made) made->lanes.alone_plan = execution_.shared_plan();
  next_ = std::move(made);
  over_ = next_ == nullptr;
  order_.reset();
  costs_ = {};
}

// The first runs take turns, in lanes and one step after the other: whatever else the machine does slows both down. Runs that find the
// threads busy tell nothing.
void Runner::run_in_lanes(const std::stop_token& stop) {
  if (next_) return run_steps(execution_, stop);
  const bool tries = policy_ == LanePolicy::measured && runs_ < tried_runs;
  const bool alone = tries && runs_ % 2 == 1;
  const auto begin = Clock::now();
  if (alone)
    run_steps(execution_, stop);
  else if (!lanes_->run(threads_, stop))
    return run_steps(execution_, stop);
  if (!tries) return;
  auto& shortest = alone ? shortest_alone_ : shortest_;
  shortest = std::min<std::int64_t>(shortest, std::chrono::nanoseconds(Clock::now() - begin).count());
  if (++runs_ == tried_runs && shortest_ > shortest_alone_ - shortest_alone_ / 20) next_ = execution_.plan().lanes.alone_plan;
}

}  // namespace tenon

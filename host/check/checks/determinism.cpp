#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "check/calls/backward_trial.hpp"
#include "check/calls/test_call.hpp"

namespace tenon::checks {
namespace {

std::string compare(const TestCall& left, const TestCall& right, const char* when) {
  if (const int i = first_difference(left.outputs, right.outputs); i >= 0)
    return fmt::format("output {} has different bits {}", i, when);
  if (const int i = first_difference(left.states, right.states); i >= 0)
    return fmt::format("state {} has different bits {}", i, when);
  return {};
}

std::string compare_backward(const BackwardTrial& backward, Threads& one, Threads& four) {
  const auto first = backward.memory(), spread = backward.memory();
  backward.run(first, one);
  backward.run(spread, four);
  if (const int i = first_difference(first.input_grads, spread.input_grads); i >= 0)
    return fmt::format("the gradient of input {} has different bits on 4 threads than on 1", i);
  return {};
}

constexpr int rounds = 20;

struct Runner {
  Runner(const LoadedOperator& op, const TestInput& sample, std::uint64_t own_seed)
      : call(op, sample.attributes), alone(call, sample, own_seed), sample(sample), seed(own_seed) {
    alone.run(threads);
  }
  void run_again(std::atomic<int>& ready) {
    try {
      for (int i = 0; i < rounds && fault.empty(); ++i) {
        TestCall trial(call, sample, seed);
        ++ready;
        while (ready < 2 * (i + 1)) std::this_thread::yield();  // both start together
        trial.run(threads);
        if (first_difference(alone.outputs, trial.outputs) >= 0)
          fault = "gives different bits while another instance runs";
      }
    } catch (const std::exception& error) {
      fault = std::string("fails while another instance runs: ") + error.what();
    }
    ready += 2 * rounds;  // so that the other thread does not wait for this one
  }

  Threads threads{1};
  OperatorCall call;
  TestCall alone;
  const TestInput& sample;
  std::uint64_t seed;
  std::string fault;
};

}  // namespace

Outcome check_determinism(const CheckedOperator& subject) {
  Threads one(1), four(4);
  constexpr std::size_t most = 4;  // large samples, so that loops are distributed over threads
  const auto look = [&](const OperatorCall& call, const TestInput& sample) {
    TestCall first(call, sample, subject.seed), again(call, sample, subject.seed),
        spread(call, sample, subject.seed);
    first.run(one);
    again.run(one);
    if (auto fault = compare(first, again, "when it runs again"); !fault.empty()) return fault;
    spread.run(four);
    if (auto fault = compare(first, spread, "on 4 threads than on 1"); !fault.empty()) return fault;
    return look_backward(subject.op, sample, subject.seed, [&](const BackwardTrial& backward) {
      return compare_backward(backward, one, four);
    });
  };
  auto outcome = each_sample(subject, TestInputKind::large, look, most, Draws::positive);
  return outcome.verdict == Verdict::untried
             ? each_sample(subject, TestInputKind::ordinary, look, most)
             : outcome;
}

Outcome check_instances(const CheckedOperator& subject) {
  return each_sample(
      subject, TestInputKind::ordinary,
      [&](const OperatorCall&, const TestInput& sample) {
        Runner left(subject.op, sample, subject.seed),
            right(subject.op, sample, subject.seed + 1000);
        std::atomic<int> ready = 0;
        std::thread other([&] { right.run_again(ready); });
        left.run_again(ready);
        other.join();
        return left.fault.empty() ? right.fault : left.fault;
      },
      4, Draws::positive);
}

}  // namespace tenon::checks

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "check/calls/backward_test_call.hpp"
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

std::string compare_backward(const BackwardTestCall& backward, Threads& one, Threads& four) {
  const auto first = backward.memory(), parallel = backward.memory();
  backward.run(first, one);
  backward.run(parallel, four);
  if (const int i = first_difference(first.input_grads, parallel.input_grads); i >= 0)
    return fmt::format("the gradient of input {} has different bits on 4 threads than on 1", i);
  return {};
}

constexpr int rounds = 20;

struct Runner {
  Runner(const LoadedOperator& op, const TestInput& sample, std::uint64_t own_seed)
      : call(op, sample.attributes),
        reference(call, sample, own_seed),
        sample(sample),
        seed(own_seed) {
    reference.run(threads);
  }
  void run_again(std::atomic<int>& ready) {
    try {
      for (int i = 0; i < rounds && fault.empty(); ++i) {
        TestCall test_call(call, sample, seed);
        ++ready;
        while (ready < 2 * (i + 1)) std::this_thread::yield();  // both start together
        test_call.run(threads);
        if (first_difference(reference.outputs, test_call.outputs) >= 0)
          fault = "gives different bits while another instance runs";
      }
    } catch (const std::exception& error) {
      fault = std::string("fails while another instance runs: ") + error.what();
    }
    ready += 2 * rounds;  // so that the other thread does not wait for this one
  }

  Threads threads{1};
  OperatorCall call;
  TestCall reference;
  const TestInput& sample;
  std::uint64_t seed;
  std::string fault;
};

}  // namespace

Outcome check_determinism(const CheckedOperator& checked) {
  Threads one(1), four(4);
  constexpr std::size_t max_samples =
      4;  // large samples, so that loops are distributed over threads
  const auto test = [&](const OperatorCall& call, const TestInput& sample) {
    TestCall first(call, sample, checked.seed), again(call, sample, checked.seed),
        parallel(call, sample, checked.seed);
    first.run(one);
    again.run(one);
    if (auto fault = compare(first, again, "when it runs again"); !fault.empty()) return fault;
    parallel.run(four);
    if (auto fault = compare(first, parallel, "on 4 threads than on 1"); !fault.empty())
      return fault;
    return test_backward(checked.op, sample, checked.seed, [&](const BackwardTestCall& backward) {
      return compare_backward(backward, one, four);
    });
  };
  auto outcome = each_sample(checked, TestInputKind::large, test, max_samples, Draws::positive);
  return outcome.verdict == Verdict::untried
             ? each_sample(checked, TestInputKind::ordinary, test, max_samples)
             : outcome;
}

Outcome check_instances(const CheckedOperator& checked) {
  return each_sample(
      checked, TestInputKind::ordinary,
      [&](const OperatorCall&, const TestInput& sample) {
        Runner left(checked.op, sample, checked.seed),
            right(checked.op, sample, checked.seed + 1000);
        std::atomic<int> ready = 0;
        std::thread other([&] { right.run_again(ready); });
        left.run_again(ready);
        other.join();
        return left.fault.empty() ? right.fault : left.fault;
      },
      4, Draws::positive);
}

}  // namespace tenon::checks

// Checks of memory accesses: a call touches only its tensors, writes all outputs, and does not
// modify inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "check/calls/backward_trial.hpp"
#include "check/calls/guarded_calls.hpp"
#include "check/calls/test_call.hpp"

namespace tenon::checks {
namespace {

/// The first element that kept the fill value in both runs; -1 if every element was written.
std::int64_t first_hole(const Tensor& one, std::uint8_t fill, const Tensor& other,
                        std::uint8_t other_fill) {
  const auto size = size_of(one.dtype());
  const std::string before(size, static_cast<char>(fill)),
      other_before(size, static_cast<char>(other_fill));
  const auto *left = static_cast<const char*>(one.data()),
             *right = static_cast<const char*>(other.data());
  for (std::int64_t i = 0; i < one.size(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(left + at, before.data(), size) == 0 &&
        std::memcmp(right + at, other_before.data(), size) == 0)
      return i;
  }
  return -1;
}

bool may_share(const TestCall& trial, std::size_t input, std::size_t output) {
  return trial.inputs[input] && trial.inputs[input].bytes() == trial.outputs[output].bytes();
}

/// Tests each in-place pair that backward declares.
std::string backward_in_place(const BackwardTrial& backward, const OperatorInfo& info,
                              Threads& threads, int& shared) {
  const auto apart = backward.memory();
  backward.run(apart, threads);
  for (const auto& [out, in] : info.backward_inplace) {
    const auto output = static_cast<std::size_t>(out), input = static_cast<std::size_t>(in);
    auto trial = backward.memory();
    if (input >= trial.input_grads.size() || output >= trial.output_grads.size()) continue;
    const auto given = trial.output_grads[output], made = trial.input_grads[input];
    if (!given || !made || given.bytes() != made.bytes() || given.dtype() != made.dtype()) continue;
    trial.input_grads[input] = Tensor::borrow(given.data(), made.dtype(), made.shape(), {},
                                              std::make_shared<Tensor>(given));
    trial.writes[input] = TENON_WRITE_IN_PLACE;
    backward.run(trial, threads);
    ++shared;
    if (!same_bits(apart.input_grads[input], trial.input_grads[input]))
      return fmt::format(
          "the gradient of input '{}', computed in the memory of that of output {}, differs from "
          "the out-of-place result",
          info.inputs[input].name, output);
  }
  return {};
}

void call_twice(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed) {
  Threads threads(1);
  const OperatorCall call(op, sample.attributes);
  TestCall first(call, sample, seed, Placement::after_guard);
  first.run(threads);
  for (const auto* group : {&first.inputs, &first.outputs, &first.states})
    std::for_each(group->begin(), group->end(), forbid);
  TestCall(call, sample, seed, Placement::before_guard).run(threads);
}

/// Runs backward after a forward of the same object, whose memory and call are forbidden as well.
/// Errors of the kernel are left to the check `gradient`.
void call_backward_twice(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed) {
  Threads threads(1);
  const CallContext context{.threads = threads, .seed = seed, .training = true};
  const std::vector<bool> all(sample.types.inputs.size(), true);
  const SameCall calls(op, sample, cpu_device(), seed);
  std::vector<CallMemory> done;
  const auto run = [&](const CallMemory& memory, bool backward, Placement placement) {
    done.push_back(guarded_copy(calls.there(), memory, placement));
    done.back() = run_call(calls.there(), sample.types, done.back(), backward, context, placement);
    for (const auto& [name, group] : tensor_groups)
      std::for_each((done.back().*group).begin(), (done.back().*group).end(), forbid);
  };
  try {
    const auto backward = calls.backward_memory(Numbers::positive, all, true);
    run(calls.forward_memory(Numbers::positive), false, Placement::before_guard);
    run(backward, true, Placement::after_guard);
    run(backward, true, Placement::before_guard);
  } catch (const Failure&) {
    return;
  }
}

}  // namespace

// An access to a guard page or to the data of an earlier call ends this process with a report: see
// report_crashes().
Outcome check_guard(const CheckedOperator& subject) {
  constexpr TestInputKind kinds[] = {TestInputKind::odd, TestInputKind::ordinary,
                                     TestInputKind::empty};
  return each_sample(subject, kinds, [&](const OperatorCall&, const TestInput& sample) {
    GuardedCalls guarded(subject.op);
    call_twice(guarded.op(), sample, subject.seed);
    if (has_backward(subject.op, sample)) call_backward_twice(guarded.op(), sample, subject.seed);
    return guarded.fault();
  });
}

Outcome check_coverage(const CheckedOperator& subject) {
  constexpr std::uint8_t fills[] = {0xc3, 0x5a};
  Threads threads(1);
  return each_sample(subject, all_kinds, [&](const OperatorCall& call, const TestInput& sample) {
    TestCall one(call, sample, subject.seed, Placement::apart, fills[0]),
        other(call, sample, subject.seed, Placement::apart, fills[1]);
    one.run(threads);
    other.run(threads);
    for (std::size_t i = 0; i < one.outputs.size(); ++i)
      if (const auto hole = first_hole(one.outputs[i], fills[0], other.outputs[i], fills[1]);
          hole >= 0)
        return fmt::format("element {} of the {} of output {} is never written", hole,
                           one.outputs[i].size(), i);
    return look_backward(subject.op, sample, subject.seed, [&](const BackwardTrial& trial) {
      const auto left = trial.memory(fills[0]), right = trial.memory(fills[1]);
      trial.run(left, threads);
      trial.run(right, threads);
      for (std::size_t i = 0; i < left.input_grads.size(); ++i) {
        const auto& gradient = left.input_grads[i];
        if (const auto hole =
                gradient ? first_hole(gradient, fills[0], right.input_grads[i], fills[1]) : -1;
            hole >= 0)
          return fmt::format("element {} of the {} of the gradient of input {} is never written",
                             hole, gradient.size(), i);
      }
      return std::string();
    });
  });
}

Outcome check_inputs(const CheckedOperator& subject) {
  Threads threads(1);
  return each_sample(
      subject, TestInputKind::ordinary, [&](const OperatorCall& call, const TestInput& sample) {
        const TestCall before(call, sample, subject.seed);
        TestCall trial(call, sample, subject.seed);
        trial.run(threads);
        const int changed = first_difference(before.inputs, trial.inputs);
        if (changed >= 0) return fmt::format("the call modifies input {}", changed);
        return look_backward(subject.op, sample, subject.seed, [&](const BackwardTrial& backward) {
          const auto read = backward.memory(), untouched = backward.memory();
          backward.run(read, threads);
          for (const auto& [name, group] : tensor_groups)
            if (group != &CallMemory::input_grads && group != &CallMemory::states)
              if (const int i = first_difference(untouched.*group, read.*group); i >= 0)
                return fmt::format("backward modifies {} {}", name, i);
          return std::string();
        });
      });
}

Outcome check_in_place(const CheckedOperator& subject) {
  const auto& info = *subject.op.info;
  const bool sometimes = std::any_of(info.conditions.begin(), info.conditions.end(),
                                     [](const auto& c) { return c.of == "inplace"; });
  if (info.inplace.empty() && info.backward_inplace.empty() && !sometimes)
    return skipped("it does not declare that an output may reuse an input's memory");
  Threads threads(1);
  int shared = 0;
  auto outcome = each_sample(
      subject, TestInputKind::ordinary, [&](const OperatorCall& call, const TestInput& sample) {
        TestCall apart(call, sample, subject.seed);
        apart.run(threads);
        for (const auto& [in, out] : call.info().inplace) {
          const auto input = static_cast<std::size_t>(in), output = static_cast<std::size_t>(out);
          TestCall trial(call, sample, subject.seed);
          if (input >= trial.inputs.size() || output >= trial.outputs.size() ||
              !may_share(trial, input, output))
            continue;
          const auto type = trial.outputs[output];
          const auto memory = trial.inputs[input];
          trial.outputs[output] = Tensor::borrow(memory.data(), type.dtype(), type.shape(), {},
                                                 std::make_shared<Tensor>(memory));
          trial.run(threads);
          ++shared;
          if (const int differs = first_difference(apart.outputs, trial.outputs); differs >= 0)
            return fmt::format(
                "output {}, computed in the memory of input '{}', differs from the out-of-place "
                "result",
                differs, info.inputs[input].name);
        }
        return look_backward(subject.op, sample, subject.seed, [&](const BackwardTrial& backward) {
          return backward_in_place(backward, call.info(), threads, shared);
        });
      });
  if (outcome.verdict == Verdict::passed && shared == 0)
    return {Verdict::untried,
            "nothing could be checked: no inputs were found that are as large as the output"};
  return outcome;
}

}  // namespace tenon::checks

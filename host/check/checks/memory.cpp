// Checks of memory accesses: a call touches only its tensors, writes all outputs, and does not
// modify inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "check/calls/backward_test_call.hpp"
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

bool may_share(const TestCall& test_call, std::size_t input, std::size_t output) {
  return test_call.inputs[input] &&
         test_call.inputs[input].bytes() == test_call.outputs[output].bytes();
}

/// Tests each in-place pair that backward declares.
std::string backward_in_place(const BackwardTestCall& backward, const OperatorInfo& info,
                              Threads& threads, int& shared) {
  const auto out_of_place = backward.memory();
  backward.run(out_of_place, threads);
  for (const auto& [out, in] : info.backward_inplace) {
    const auto output = static_cast<std::size_t>(out), input = static_cast<std::size_t>(in);
    auto test_call = backward.memory();
    if (input >= test_call.input_grads.size() || output >= test_call.output_grads.size()) continue;
    const auto output_grad = test_call.output_grads[output],
               input_grad = test_call.input_grads[input];
    if (!output_grad || !input_grad || output_grad.bytes() != input_grad.bytes() ||
        output_grad.dtype() != input_grad.dtype())
      continue;
    test_call.input_grads[input] =
        Tensor::borrow(output_grad.data(), input_grad.dtype(), input_grad.shape(), {},
                       std::make_shared<Tensor>(output_grad));
    test_call.writes[input] = TENON_WRITE_IN_PLACE;
    backward.run(test_call, threads);
    ++shared;
    if (!same_bits(out_of_place.input_grads[input], test_call.input_grads[input]))
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
    std::for_each(group->begin(), group->end(), protect);
  TestCall(call, sample, seed, Placement::before_guard).run(threads);
}

/// Runs backward after a forward of the same object, whose memory and call are protected as well.
/// Errors of the kernel are left to the check `gradient`.
void call_backward_twice(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed) {
  Threads threads(1);
  const CallContext context{.threads = threads, .seed = seed, .training = true};
  const std::vector<bool> all(sample.types.inputs.size(), true);
  const DeviceComparison calls(op, sample, cpu_device(), seed);
  std::vector<CallMemory> done;
  const auto run = [&](const CallMemory& memory, bool backward, Placement placement) {
    done.push_back(guarded_copy(calls.device_call(), memory, placement));
    done.back() =
        run_call(calls.device_call(), sample.types, done.back(), backward, context, placement);
    for (const auto& [name, group] : tensor_groups)
      std::for_each((done.back().*group).begin(), (done.back().*group).end(), protect);
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
Outcome check_guard(const CheckedOperator& checked) {
  constexpr TestInputKind kinds[] = {TestInputKind::odd, TestInputKind::ordinary,
                                     TestInputKind::empty};
  return each_sample(checked, kinds, [&](const OperatorCall&, const TestInput& sample) {
    GuardedCalls guarded(checked.op);
    call_twice(guarded.op(), sample, checked.seed);
    if (has_backward(checked.op, sample)) call_backward_twice(guarded.op(), sample, checked.seed);
    return guarded.fault();
  });
}

Outcome check_coverage(const CheckedOperator& checked) {
  constexpr std::uint8_t fills[] = {0xc3, 0x5a};
  Threads threads(1);
  return each_sample(checked, all_kinds, [&](const OperatorCall& call, const TestInput& sample) {
    TestCall one(call, sample, checked.seed, Placement::aligned, fills[0]),
        other(call, sample, checked.seed, Placement::aligned, fills[1]);
    one.run(threads);
    other.run(threads);
    for (std::size_t i = 0; i < one.outputs.size(); ++i)
      if (const auto hole = first_hole(one.outputs[i], fills[0], other.outputs[i], fills[1]);
          hole >= 0)
        return fmt::format("element {} of the {} of output {} is never written", hole,
                           one.outputs[i].size(), i);
    return test_backward(checked.op, sample, checked.seed, [&](const BackwardTestCall& test_call) {
      const auto left = test_call.memory(fills[0]), right = test_call.memory(fills[1]);
      test_call.run(left, threads);
      test_call.run(right, threads);
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

Outcome check_inputs(const CheckedOperator& checked) {
  Threads threads(1);
  return each_sample(
      checked, TestInputKind::ordinary, [&](const OperatorCall& call, const TestInput& sample) {
        const TestCall before(call, sample, checked.seed);
        TestCall test_call(call, sample, checked.seed);
        test_call.run(threads);
        const int changed = first_difference(before.inputs, test_call.inputs);
        if (changed >= 0) return fmt::format("the call modifies input {}", changed);
        return test_backward(
            checked.op, sample, checked.seed, [&](const BackwardTestCall& backward) {
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

Outcome check_in_place(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  const bool sometimes = std::any_of(info.conditions.begin(), info.conditions.end(),
                                     [](const auto& c) { return c.of == "inplace"; });
  if (info.inplace.empty() && info.backward_inplace.empty() && !sometimes)
    return skipped("it does not declare that an output may reuse an input's memory");
  Threads threads(1);
  int shared = 0;
  auto outcome = each_sample(
      checked, TestInputKind::ordinary, [&](const OperatorCall& call, const TestInput& sample) {
        TestCall out_of_place(call, sample, checked.seed);
        out_of_place.run(threads);
        for (const auto& [in, out] : call.info().inplace) {
          const auto input = static_cast<std::size_t>(in), output = static_cast<std::size_t>(out);
          TestCall test_call(call, sample, checked.seed);
          if (input >= test_call.inputs.size() || output >= test_call.outputs.size() ||
              !may_share(test_call, input, output))
            continue;
          const auto type = test_call.outputs[output];
          const auto memory = test_call.inputs[input];
          test_call.outputs[output] = Tensor::borrow(memory.data(), type.dtype(), type.shape(), {},
                                                     std::make_shared<Tensor>(memory));
          test_call.run(threads);
          ++shared;
          if (const int differs = first_difference(out_of_place.outputs, test_call.outputs);
              differs >= 0)
            return fmt::format(
                "output {}, computed in the memory of input '{}', differs from the out-of-place "
                "result",
                differs, info.inputs[input].name);
        }
        return test_backward(checked.op, sample, checked.seed,
                             [&](const BackwardTestCall& backward) {
                               return backward_in_place(backward, call.info(), threads, shared);
                             });
      });
  if (outcome.verdict == Verdict::passed && shared == 0)
    return {Verdict::untried,
            "nothing could be checked: no inputs were found that are as large as the output"};
  return outcome;
}

}  // namespace tenon::checks

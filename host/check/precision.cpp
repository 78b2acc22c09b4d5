#include "check/precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/calls/backward_trial.hpp"
#include "check/calls/test_call.hpp"

namespace tenon::checks {
namespace {

/// Relative to the largest number: twice the error of a product of two factors rounded to
/// bfloat16's eight bits.
constexpr double rounding_error = 0x1p-7;

std::vector<Tensor> outputs_of(const CheckedOperator& subject, const OperatorCall& call,
                               const TestInput& sample) {
  Threads threads(1);
  TestCall trial(call, sample, subject.seed);
  trial.run(threads);
  return trial.outputs;
}

std::vector<Tensor> gradients_of(const CheckedOperator& subject, const TestInput& sample) {
  Threads threads(1);
  const BackwardTrial trial(subject.op, sample, subject.seed);
  const auto memory = trial.memory();
  trial.run(memory, threads);
  return memory.input_grads;
}

}  // namespace

std::string compare_rounded(const std::vector<Tensor>& rounded, const std::vector<Tensor>& usual,
                            const char* what) {
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (!usual[i] || !floating.has(usual[i].dtype())) continue;
    const auto found = doubles_of(rounded[i]), expected = doubles_of(usual[i]);
    double largest = 0;
    for (const double number : expected)
      largest = std::isfinite(number) ? std::max(largest, std::abs(number)) : largest;
    for (std::size_t k = 0; k < expected.size(); ++k)
      if (std::isfinite(expected[k]) &&
          !(std::abs(found[k] - expected[k]) <= rounding_error * largest))
        return fmt::format("element {} of {} {} is {} with precision bfloat16, but {} without", k,
                           what, i, found[k], expected[k]);
  }
  return {};
}

PrecisionCheck check_precision(const CheckedOperator& subject) {
  constexpr std::size_t most = 24;
  PrecisionCheck check;
  if (!allows(subject.op.info->types, DType::f32) || subject.op.info->random) return check;
  const auto& samples = find_samples(subject, DType::f32, TestInputKind::ordinary).found;
  for (std::size_t s = 0; s < std::min(most, samples.size()) && check.fault.empty(); ++s) {
    auto usual = samples[s], asked = usual;
    asked.types.precision = bf16;
    const OperatorCall call(subject.op, usual.attributes);
    if (call.kernel(asked.types) == call.kernel(usual.types)) continue;
    Refusals refusals;
    const auto accepted = accepted_by_kernel(subject, usual, refusals);
    if (!accepted) continue;
    asked.given = usual.given = accepted->given;
    ++check.calls;
    tell_call(*subject.op.info, usual, ", in precision bfloat16");
    check.fault = compare_rounded(outputs_of(subject, call, asked),
                                  outputs_of(subject, call, usual), "output");
    if (check.fault.empty() && has_backward(subject.op, usual))
      check.fault =
          compare_rounded(gradients_of(subject, asked), gradients_of(subject, usual), "gradient");
    if (!check.fault.empty()) check.fault += ", with " + describe_sample(*subject.op.info, usual);
  }
  return check;
}

}  // namespace tenon::checks

#include "check/precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/calls/backward_test_call.hpp"
#include "check/calls/test_call.hpp"

namespace tenon::checks {
namespace {

/// Relative to the largest number: twice the error of a product of two factors rounded to
/// bfloat16's eight bits.
constexpr double rounding_error = 0x1p-7;

std::vector<Tensor> outputs_of(const CheckedOperator& checked, const OperatorCall& call,
                               const TestInput& sample) {
  Threads threads(1);
  TestCall test_call(call, sample, checked.seed);
  test_call.run(threads);
  return test_call.outputs;
}

std::vector<Tensor> gradients_of(const CheckedOperator& checked, const TestInput& sample) {
  Threads threads(1);
  const BackwardTestCall test_call(checked.op, sample, checked.seed);
  const auto memory = test_call.memory();
  test_call.run(memory, threads);
  return memory.input_grads;
}

}  // namespace

std::string compare_rounded(const std::vector<Tensor>& rounded, const std::vector<Tensor>& full,
                            const char* what) {
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (!full[i] || !floating.has(full[i].dtype())) continue;
    const auto found = doubles_of(rounded[i]), expected = doubles_of(full[i]);
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

PrecisionCheck check_precision(const CheckedOperator& checked) {
  constexpr std::size_t max_samples = 24;
  PrecisionCheck check;
  if (!allows(checked.op.info->types, DType::f32) || checked.op.info->random) return check;
  const auto& samples = find_samples(checked, DType::f32, TestInputKind::ordinary).found;
  for (std::size_t s = 0; s < std::min(max_samples, samples.size()) && check.fault.empty(); ++s) {
    auto full = samples[s], reduced = full;
    reduced.types.precision = bf16;
    const OperatorCall call(checked.op, full.attributes);
    if (call.kernel(reduced.types) == call.kernel(full.types)) continue;
    Refusals refusals;
    const auto accepted = accepted_by_kernel(checked, full, refusals);
    if (!accepted) continue;
    reduced.elements = full.elements = accepted->elements;
    ++check.calls;
    report_call(*checked.op.info, full, ", in precision bfloat16");
    check.fault = compare_rounded(outputs_of(checked, call, reduced),
                                  outputs_of(checked, call, full), "output");
    if (check.fault.empty() && has_backward(checked.op, full))
      check.fault =
          compare_rounded(gradients_of(checked, reduced), gradients_of(checked, full), "gradient");
    if (!check.fault.empty()) check.fault += ", with " + describe_sample(*checked.op.info, full);
  }
  return check;
}

}  // namespace tenon::checks

// A check over the ordinary samples of an operator.
#pragma once
#include <string>

#include "cli/check/check.hpp"
#include "cli/check/trial.hpp"

namespace tenon::cli {

/// `look(call, sample)` gives what is wrong, or nothing. The first fault is told with its inputs.
template <class Look>
Outcome each_sample(const Subject& subject, SampleKind kind, Look&& look, std::size_t most = 24) {
  const auto samples = find_samples(subject.op, kind);
  if (samples.found.empty()) return skipped("no inputs were found that it accepts: " + samples.refusal);
  std::size_t count = 0;
  for (const auto& sample : samples.found) {
    if (count == most) break;
    ++count;
    const OperatorCall call(subject.op, sample.attributes);
    const std::string fault = look(call, sample);
    if (!fault.empty()) return failed(fault + ", with " + describe_sample(*subject.op.info, sample));
  }
  return passed(std::to_string(count) + (count == 1 ? " call" : " calls"));
}

}  // namespace tenon::cli

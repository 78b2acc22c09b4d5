#include <fmt/format.h>

#include "cli/check/each_sample.hpp"

namespace tenon::cli {

Outcome check_inputs(const Subject& subject) {
  Threads threads(1);
  return each_sample(subject, SampleKind::ordinary, [&](const OperatorCall& call, const Sample& sample) {
    const Trial before(call, sample, subject.seed);
    Trial trial(call, sample, subject.seed);
    trial.run(threads);
    const int changed = first_difference(before.inputs, trial.inputs);
    return changed < 0 ? std::string() : fmt::format("input {} is changed by the call", changed);
  });
}

}  // namespace tenon::cli

#include <fmt/format.h>

#include <tenon/failure.hpp>

#include "cli/check/check.hpp"
#include "cli/check/trial.hpp"

namespace tenon::cli {

// A refusal with a reason is an answer (the largest of nothing is nothing); the check is for those who die or hang.
Outcome check_shapes(const Subject& subject) {
  Threads threads(1);
  int ran = 0, refused = 0;
  std::string refusal;
  for (const auto kind : {SampleKind::empty, SampleKind::scalar, SampleKind::odd}) {
    const auto samples = find_samples(subject.op, kind);
    if (samples.found.empty()) refusal = samples.refusal;
    for (const auto& sample : samples.found) {
      const OperatorCall call(subject.op, sample.attributes);
      Trial aligned(call, sample, subject.seed), unaligned(call, sample, subject.seed, Placement::unaligned);
      try {
        aligned.run(threads);
        unaligned.run(threads);
        ++ran;
      } catch (const Failure& failure) {
        refusal = failure.what();
        ++refused;
      }
    }
  }
  if (ran == 0) return skipped("all such inputs are refused: " + refusal);
  return passed(fmt::format("{} calls ran, {} were refused with a reason", ran, refused));
}

}  // namespace tenon::cli

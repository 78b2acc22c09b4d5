#include "cli/check/each_sample.hpp"

namespace tenon::cli {

// A touch of a guard page ends this process with its sentence: see report_guard_hits().
Outcome check_guard(const Subject& subject) {
  Threads threads(1);
  Outcome worst;
  for (const auto kind : {SampleKind::odd, SampleKind::ordinary}) {
    const auto outcome = each_sample(subject, kind, [&](const OperatorCall& call, const Sample& sample) {
      for (const auto placement : {Placement::after_guard, Placement::before_guard})
        Trial(call, sample, subject.seed, placement).run(threads);
      return std::string();
    });
    if (kind == SampleKind::odd || outcome.verdict == Verdict::passed) worst = outcome;
  }
  return worst;
}

}  // namespace tenon::cli

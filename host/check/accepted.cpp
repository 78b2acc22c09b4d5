// What a kernel accepts.
#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "check/check.hpp"
#include "check/test_call.hpp"
#include "io/counted.hpp"

namespace tenon::checks {

Outcome check_dtypes(const CheckedOperator& subject) {
  const auto& info = *subject.op.info;
  const bool shared = std::any_of(info.inputs.begin(), info.inputs.end(), [](const auto& input) { return !input.types; });
  if (!shared) return skipped("no input has the dtype that the operator declares for all");
  Threads threads(1);
  int count = 0;
  std::string error, without;
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!allows(info.types, dtype)) continue;
    const auto samples = find_samples(subject.op, dtype, TestInputKind::ordinary);
    if (samples.found.empty()) {
      without = name_of(dtype);
      error = samples.error;
      continue;
    }
    const auto& sample = samples.found.front();
    try {
      const OperatorCall call(subject.op, sample.attributes);
      TestCall(call, sample, subject.seed).run(threads);
    } catch (const Failure& failure) {
      return failed(fmt::format("{} is declared, but the kernel refuses it: {}", name_of(dtype), failure.what()));
    }
    ++count;
  }
  if (count == 0) return skipped("no inputs were found that it accepts: " + error);
  if (!without.empty()) return failed(fmt::format("{} is declared, but no inputs of it are accepted: {}", without, error));
  return passed(counted(count, "dtype"));
}

// An error with a reason is an answer (the largest of nothing is nothing); the check is for those who die or hang.
Outcome check_shapes(const CheckedOperator& subject) {
  Threads threads(1);
  int ran = 0, refused = 0;
  std::string error;
  for (const auto kind : {TestInputKind::empty, TestInputKind::scalar, TestInputKind::odd}) {
    const auto samples = find_samples(subject.op, kind);
    if (samples.found.empty()) error = samples.error;
    for (const auto& sample : samples.found) {
      const OperatorCall call(subject.op, sample.attributes);
      TestCall aligned(call, sample, subject.seed), unaligned(call, sample, subject.seed, Placement::unaligned);
      try {
        aligned.run(threads);
        unaligned.run(threads);
        ++ran;
      } catch (const Failure& failure) {
        error = failure.what();
        ++refused;
      }
    }
  }
  if (ran == 0) return skipped("all such inputs are refused: " + error);
  return passed(fmt::format("{} ran, {} refused with a reason", counted(ran, "call"), refused));
}

}  // namespace tenon::checks

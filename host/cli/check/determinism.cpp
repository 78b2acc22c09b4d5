#include <fmt/format.h>

#include "cli/check/each_sample.hpp"

namespace tenon::cli {
namespace {

std::string compare(const Trial& left, const Trial& right, const char* when) {
  if (const int i = first_difference(left.outputs, right.outputs); i >= 0) return fmt::format("output {} has other bits {}", i, when);
  if (const int i = first_difference(left.states, right.states); i >= 0) return fmt::format("state {} has other bits {}", i, when);
  return {};
}

}  // namespace

Outcome check_determinism(const Subject& subject) {
  Threads one(1), four(4);
  constexpr std::size_t most = 4;  // they are large, so that loops are really spread over threads
  auto kind = SampleKind::large;
  if (find_samples(subject.op, kind).found.empty()) kind = SampleKind::ordinary;
  return each_sample(
      subject, kind,
      [&](const OperatorCall& call, const Sample& sample) {
        Trial first(call, sample, subject.seed), again(call, sample, subject.seed), spread(call, sample, subject.seed);
        first.run(one);
        again.run(one);
        if (auto fault = compare(first, again, "when it runs again"); !fault.empty()) return fault;
        spread.run(four);
        return compare(first, spread, "on 4 threads than on 1");
      },
      most);
}

}  // namespace tenon::cli

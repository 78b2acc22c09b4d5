#include <fmt/format.h>

#include "cli/check/each_sample.hpp"

namespace tenon::cli {
namespace {

bool may_share(const Trial& trial, std::size_t input, std::size_t output) {
  return trial.inputs[input] && trial.inputs[input].bytes() == trial.outputs[output].bytes();
}

}  // namespace

Outcome check_in_place(const Subject& subject) {
  const auto& info = *subject.op.info;
  if (info.inplace.empty()) return skipped("it does not declare that an output may use an input's memory");
  Threads threads(1);
  int shared = 0;
  auto outcome = each_sample(subject, SampleKind::ordinary, [&](const OperatorCall& call, const Sample& sample) {
    Trial apart(call, sample, subject.seed);
    apart.run(threads);
    for (const auto& [in, out] : info.inplace) {
      const auto input = static_cast<std::size_t>(in), output = static_cast<std::size_t>(out);
      Trial trial(call, sample, subject.seed);
      if (input >= trial.inputs.size() || output >= trial.outputs.size() || !may_share(trial, input, output)) continue;
      const auto type = trial.outputs[output];
      const auto memory = trial.inputs[input];
      trial.outputs[output] = Tensor::borrow(memory.data(), type.dtype(), type.shape(), {}, std::make_shared<Tensor>(memory));
      trial.run(threads);
      ++shared;
      if (const int differs = first_difference(apart.outputs, trial.outputs); differs >= 0)
        return fmt::format("output {} in the memory of input '{}' is not what it is out of place", differs, info.inputs[input].name);
    }
    return std::string();
  });
  if (outcome.verdict == Verdict::passed && shared == 0) return skipped("no inputs were found whose memory is as large as the output's");
  return outcome;
}

}  // namespace tenon::cli

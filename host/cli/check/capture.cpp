// Whether a kernel that says capturable is: a session calls it once, captures it, and never calls it again.
#include <fmt/format.h>

#include <exception>
#include <optional>

#include "cli/check/same_call.hpp"
#include "cli/check/trial.hpp"
#include "cli/check/with_device.hpp"
#include "device/captured.hpp"
#include "run/operator_run.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon::cli {
namespace {

constexpr std::uint64_t at_capture = 0, at_replay = 1;  // steps of random numbers, which no captured kernel may read

std::string try_sample(const Subject& subject, const Sample& sample, Device& device) {
  const SameCall call(subject.op, sample, device, subject.seed), other(subject.op, sample, device, subject.seed + 1000);
  for (const bool training : {false, true}) {
    const auto memory = call.forward_memory(Numbers::positive);
    auto fault = call.compare_replayed(memory, other.forward_memory(Numbers::both_signs), false, training);
    if (!fault.empty()) return fault;
  }
  const bool both = subject.op.cpu->backward != nullptr && subject.op.cuda->backward != nullptr;
  if (!both || sample.types.outputs.empty() || !floating.has(static_cast<DType>(sample.types.outputs[0].dtype))) return {};
  const std::vector<bool> all(sample.types.inputs.size(), true);
  const auto memory = call.backward_memory(Numbers::positive, all, true);
  const auto fault = call.compare_replayed(memory, other.backward_memory(Numbers::both_signs, all, true), true, true);
  return fault.empty() ? fault : "backward: " + fault;
}

}  // namespace

std::string SameCall::compare_replayed(const CallMemory& first, const CallMemory& second, bool backward, bool training) const {
  Threads threads(1);
  const auto clone = [](const Tensor& tensor, bool) { return tensor.clone(); };
  const auto here = second.with(clone);
  try {
    run_call(here_, sample_.types, first.with(clone), backward, {threads, seed_, at_capture, nullptr, training});
    run_call(here_, sample_.types, here, backward, {threads, seed_, at_replay, nullptr, training});
  } catch (const Failure&) {
    return {};
  }
  auto far = memory_for(first);
  const auto there = first.with([&](const Tensor& tensor, bool) { return far.add(tensor, Lie::aligned); });
  const PassedMemory passed(there_, there, backward);
  auto types = sample_.types;
  OperatorRun run(there_, backward ? TENON_BACKWARD : TENON_FORWARD, types, passed.tensors(),
                  {threads, seed_, at_capture, nullptr, training});
  far.upload();
  run.put();  // the first call lets the kernel set itself up
  run.finish();
  std::optional<Captured> captured;
  try {
    captured.emplace(tensor_stream(there_.device()), [&] { run.put(); });
  } catch (const std::exception& failure) {
    return fmt::format("its kernel says capturable, but cannot be captured: {}", failure.what());
  }
  for (const auto& [name, group] : tensor_groups)
    for (std::size_t i = 0; i < (there.*group).size(); ++i)
      if ((there.*group)[i]) far.change((there.*group)[i], (second.*group)[i]);
  far.upload();
  captured->launch();
  run.finish();
  far.download();
  const auto fault = differences(here, there, far);
  return fault.empty() ? fault : "replayed from a capture, with other inputs than then, " + fault;
}

Outcome check_capture(const Subject& subject) {
  return with_device(subject, [&](Device& device) {
    if ((subject.op.cuda->traits & TENON_TRAIT_CAPTURABLE) == 0) return skipped("its kernel does not say capturable: each run calls it");
    if (subject.op.info->random) return skipped("its random numbers are other ones in each run, which calls it");
    const auto look = [&](const OperatorCall&, const Sample& sample) { return try_sample(subject, sample, device); };
    auto outcome = each_sample(subject, SampleKind::ordinary, look, 12);
    if (outcome.verdict != Verdict::passed) return outcome;
    auto large = each_sample(subject, SampleKind::large, look, 2);
    return large.verdict == Verdict::failed ? large : outcome;
  });
}

}  // namespace tenon::cli

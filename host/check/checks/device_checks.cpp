// Implements `tenon check --device D`: compares a device's kernels with the CPU's.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "check/calls/same_call.hpp"
#include "check/calls/test_call.hpp"
#include "check/check.hpp"
#include "device/captured.hpp"
#include "device/devices.hpp"
#include "io/counted.hpp"
#include "plugin/device_kernel.hpp"
#include "run/calls/operator_run.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon::checks {
namespace {

/// Why there is nothing to compare; empty if there is.
std::string nothing_to_compare(const LoadedOperator& op, const Device& device) {
  if (kernel_on(op, device) == nullptr) return no_kernel_on(op, device).what();
  if (kernel_on(op, cpu_device()) == nullptr) return no_kernel_on(op, cpu_device()).what();
  return {};
}

/// Returns body(device), or why the device is not available. The device is opened here in the
/// child, because CUDA does not survive a fork.
template <class Body>
Outcome with_device(const CheckedOperator& subject, Body&& body) {
  Device* device = nullptr;
  try {
    device = &find_device(subject.device);
  } catch (const Failure& failure) {
    return skipped(failure.what());
  }
  if (!subject.op.kernel_error.empty() && kernel_on(subject.op, *device) == nullptr)
    return failed(subject.op.kernel_error);
  const auto nothing = nothing_to_compare(subject.op, *device);
  return nothing.empty() ? body(*device) : skipped(nothing);
}

// samples per kind
constexpr std::size_t max_of_first_dtype = 12, max_of_others = 3, max_large = 2;

struct Result {
  std::size_t calls = 0;
  std::string fault;
  Refusals refusals{};
};

bool wants_training(const OperatorInfo& info) {
  return info.random || !info.states.empty() ||
         std::any_of(info.outputs.begin(), info.outputs.end(),
                     [](const auto& o) { return o.hidden; });
}

bool same_bytes(const Tensor& left, const Tensor& right) {
  return left && right && left.dtype() == right.dtype() && left.shape() == right.shape();
}

/// All variations of a sample's call: numbers, layouts, write modes and in-place use.
class Ways {
 public:
  Ways(const SameCall& call, const TestInput& sample, Result& result)
      : call_(call), sample_(sample), result_(result) {}

  void forward() {
    for (const auto numbers : {Numbers::positive, Numbers::both_signs}) {
      const auto memory = call_.forward_memory(numbers);
      look(memory, false, Lie::aligned, false, words_for(numbers));
      if (numbers == Numbers::positive) try_lies(memory, false);
      if (wants_training(info())) look(memory, false, Lie::aligned, true, "in training");
      if (info().accumulates)
        look(adding(memory), false, Lie::aligned, false, "with write mode add");
      for (const auto& [in, out] : info().inplace) {
        auto shared = memory;
        auto& input = shared.inputs[static_cast<std::size_t>(in)];
        auto& output = shared.outputs[static_cast<std::size_t>(out)];
        if (!same_bytes(input, output)) continue;
        output = input;
        shared.writes[static_cast<std::size_t>(out)] = TENON_WRITE_IN_PLACE;
        look(shared, false, Lie::aligned, false, "in place");
      }
    }
  }

  void backward() {
    const auto count = sample_.types.inputs.size();
    for (const auto numbers : {Numbers::positive, Numbers::both_signs}) {
      CallMemory all;
      try {
        all = call_.backward_memory(numbers, std::vector<bool>(count, true), true);
      } catch (const Failure&) {
        continue;  // the CPU's forward rejects these elements
      }
      look(all, true, Lie::aligned, true, words_for(numbers));
      if (numbers == Numbers::positive) try_lies(all, true);
      for (std::size_t i = 0; i < count; ++i) {
        if (!all.input_grads[i]) continue;
        std::vector<bool> one(count, false);
        one[i] = true;
        look(call_.backward_memory(numbers, one, true), true, Lie::aligned, true,
             "with one gradient requested");
      }
      if (info().accumulates) look(adding(all), true, Lie::aligned, true, "with write mode add");
      for (const auto& [out, in] : info().backward_inplace) {
        auto shared = all;
        auto& gradient = shared.input_grads[static_cast<std::size_t>(in)];
        const auto& given = shared.output_grads[static_cast<std::size_t>(out)];
        if (!same_bytes(gradient, given)) continue;
        gradient = given;
        shared.writes[static_cast<std::size_t>(in)] = TENON_WRITE_IN_PLACE;
        look(shared, true, Lie::aligned, true, "in place");
      }
    }
  }

 private:
  const OperatorInfo& info() const { return call_.here().info(); }

  static const char* words_for(Numbers numbers) {
    return numbers == Numbers::positive ? "" : "with numbers of both signs";
  }

  void try_lies(const CallMemory& memory, bool backward) {
    look(memory, backward, Lie::unaligned, backward, "with unaligned inputs");
    if (info().strides) look(memory, backward, Lie::strided, backward, "with strided inputs");
  }

  static CallMemory adding(CallMemory memory) {
    for (auto& write : memory.writes)
      if (write == TENON_WRITE_TO) write = TENON_WRITE_ADD;
    return memory;
  }

  void look(const CallMemory& memory, bool backward, Lie lie, bool training, const char* words) {
    if (!result_.fault.empty()) return;
    ++result_.calls;
    std::string fault;
    try {
      fault = call_.compare(memory, backward, lie, training);
    } catch (const Failure& failure) {
      fault = fmt::format("{} refuses a call that the CPU accepts: {}",
                          call_.there().device().name(), failure.what());
    }
    if (fault.empty()) return;
    result_.fault = fmt::format("{}{}{}, with {}", fault, *words == 0 ? "" : ", ", words,
                                describe_sample(info(), sample_));
  }

  const SameCall& call_;
  const TestInput& sample_;
  Result& result_;
};

/// Calls look(sample) for samples of all kinds in every dtype that the operator supports.
template <class Look>
void each_dtype(const CheckedOperator& subject, Result& result, Look&& look) {
  bool first = true;
  for (const auto dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::boolean,
                           DType::u8, DType::i8, DType::i32, DType::i64}) {
    if (!allows(subject.op.info->types, dtype)) continue;
    for (const auto kind : {TestInputKind::ordinary, TestInputKind::odd, TestInputKind::empty,
                            TestInputKind::scalar, TestInputKind::large}) {
      if (kind == TestInputKind::large && !first) continue;
      const auto& samples = find_samples(subject, dtype, kind);
      result.refusals.add(samples.refusals);
      const auto most = kind == TestInputKind::large ? max_large
                        : first                      ? max_of_first_dtype
                                                     : max_of_others;
      for (std::size_t i = 0; i < std::min(most, samples.found.size()) && result.fault.empty();
           ++i) {
        if (!is_for_devices(samples.found[i])) continue;
        tell_call(*subject.op.info, samples.found[i]);
        look(samples.found[i]);
      }
    }
    first = false;
  }
}

Outcome outcome_of(const Result& result) {
  if (!result.fault.empty()) return failed(result.fault);
  if (result.calls == 0) return untried(result.refusals);
  return passed(counted(result.calls, "call"));
}

Outcome check_forward(const CheckedOperator& subject) {
  return with_device(subject, [&](Device& device) {
    Result result;
    each_dtype(subject, result, [&](const TestInput& sample) {
      const SameCall call(subject.op, sample, device, subject.seed);
      if (call.is_computed_there(false)) Ways(call, sample, result).forward();
    });
    return outcome_of(result);
  });
}

Outcome check_backward(const CheckedOperator& subject) {
  return with_device(subject, [&](Device& device) {
    const bool here = subject.op.kernel(TENON_CPU)->backward != nullptr,
               there = subject.op.kernel(TENON_CUDA)->backward != nullptr;
    if (!here)
      return skipped(there ? "the CPU has no backward kernel to compare with"
                           : "it has no backward kernel");
    if (!there)
      return Outcome{
          Verdict::warning,
          "its kernel has no backward, unlike the CPU's: training computes it on the CPU"};
    Result result;
    each_dtype(subject, result, [&](const TestInput& sample) {
      const SameCall call(subject.op, sample, device, subject.seed);
      if (sample.types.outputs.empty() ||
          !floating.has(static_cast<DType>(sample.types.outputs[0].dtype)))
        return;
      if (call.is_computed_there(true)) Ways(call, sample, result).backward();
    });
    return outcome_of(result);
  });
}

Outcome check_sparse_there(const CheckedOperator& subject) {
  return with_device(subject, [&](Device&) { return check_sparse(subject); });
}

// steps of the random generator, which captured kernels must not read
constexpr std::uint64_t at_capture = 0, at_replay = 1;

std::string try_sample(const CheckedOperator& subject, const TestInput& sample, Device& device) {
  const SameCall call(subject.op, sample, device, subject.seed),
      other(subject.op, sample, device, subject.seed + 1000);
  if (!call.is_computed_there(false)) return {};
  for (const bool training : {false, true}) {
    const auto memory = call.forward_memory(Numbers::positive);
    auto fault =
        call.compare_replayed(memory, other.forward_memory(Numbers::both_signs), false, training);
    if (!fault.empty()) return fault;
  }
  const bool both =
      subject.op.kernel(TENON_CPU)->backward != nullptr && call.is_computed_there(true);
  if (!both || sample.types.outputs.empty() ||
      !floating.has(static_cast<DType>(sample.types.outputs[0].dtype)))
    return {};
  const std::vector<bool> all(sample.types.inputs.size(), true);
  const auto memory = call.backward_memory(Numbers::positive, all, true);
  const auto fault = call.compare_replayed(
      memory, other.backward_memory(Numbers::both_signs, all, true), true, true);
  return fault.empty() ? fault : "backward: " + fault;
}

}  // namespace

const std::vector<Check>& device_checks() {
  static const std::vector<Check> all = {
      {"forward", "the device's kernel matches the CPU's for every dtype, write mode and layout",
       check_forward},
      {"backward", "its gradients match the CPU's", check_backward},
      {"capture",
       "a kernel declared capturable gives the same results from a CUDA graph, also with inputs "
       "other than the captured ones",
       check_capture},
      {"sparse", "results and gradients with sparse inputs match the CPU's with dense ones",
       check_sparse_there},
  };
  return all;
}

std::string SameCall::compare_replayed(const CallMemory& first, CallMemory second, bool backward,
                                       bool training) const {
  if (here_.info().allocates()) return {};
  Threads threads(1);
  for (std::size_t i = 0; i < first.inputs.size(); ++i)
    // a captured kernel has read it at capture time
    if (stays(i)) second.inputs[i] = first.inputs[i];
  const auto clone = [](const Tensor& tensor, bool) { return tensor.clone(); };
  const auto here = second.with(clone);
  try {
    run_call(here_, sample_.types, first.with(clone), backward,
             {threads, seed_, at_capture, training});
    run_call(here_, sample_.types, here, backward, {threads, seed_, at_replay, training});
  } catch (const Failure&) {
    return {};
  }
  auto far = memory_for(first, Lie::aligned);
  const auto there = in(far, first, Lie::aligned);
  const PassedMemory passed(there_, sample_.types, there, backward);
  auto types = sample_.types;
  OperatorRun run(there_, backward ? TENON_BACKWARD : TENON_FORWARD, types, passed.tensors(),
                  {threads, seed_, at_capture, training});
  far.upload();
  run.launch();  // the first call lets the kernel initialize itself
  run.finish();
  std::optional<Captured> captured;
  try {
    captured.emplace(tensor_stream(there_.device()), [&] { run.launch(); });
  } catch (const std::exception& failure) {
    return fmt::format("its kernel is declared capturable, but cannot be captured: {}",
                       failure.what());
  }
  for (const auto& [name, group] : tensor_groups)
    for (std::size_t i = 0; i < (there.*group).size(); ++i)
      if ((there.*group)[i] && (there.*group)[i].device() != "cpu")
        far.change((there.*group)[i], (second.*group)[i]);
  far.upload();
  captured->launch();
  run.finish();
  far.download();
  const auto fault = differences(here, there, far);
  return fault.empty() ? fault : "replayed from a capture with other inputs, " + fault;
}

Outcome check_capture(const CheckedOperator& subject) {
  return with_device(subject, [&](Device& device) {
    if ((subject.op.kernel(TENON_CUDA)->traits & TENON_TRAIT_CAPTURABLE) == 0)
      return skipped("its kernel is not declared capturable, so each run calls it");
    if (subject.op.info->random)
      return skipped("it draws new random numbers in each run, so each run calls it");
    const auto look = [&](const OperatorCall&, const TestInput& sample) {
      return is_for_devices(sample) ? try_sample(subject, sample, device) : std::string();
    };
    auto outcome = each_sample(subject, TestInputKind::ordinary, look, 12, Draws::positive);
    if (outcome.verdict != Verdict::passed) return outcome;
    auto large = each_sample(subject, TestInputKind::large, look, 2, Draws::positive);
    return large.verdict == Verdict::failed ? large : outcome;
  });
}

}  // namespace tenon::checks

// Implements `tenon check --device D`: compares a device's kernels with the CPU's.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>

#include "check/calls/device_comparison.hpp"
#include "check/calls/test_call.hpp"
#include "check/check.hpp"
#include "device/captured_graph.hpp"
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
Outcome with_device(const CheckedOperator& checked, Body&& body) {
  Device* device = nullptr;
  try {
    device = &find_device(checked.device);
  } catch (const Failure& failure) {
    return skipped(failure.what());
  }
  if (!checked.op.kernel_error.empty() && kernel_on(checked.op, *device) == nullptr)
    return failed(checked.op.kernel_error);
  const auto nothing = nothing_to_compare(checked.op, *device);
  return nothing.empty() ? body(*device) : skipped(nothing);
}

// samples per kind
constexpr std::size_t max_of_first_dtype = 12, max_of_others = 3, max_large = 2;

struct Result {
  std::size_t calls = 0, repeated = 0;
  std::string fault;
  Refusals refusals{};
};

bool depends_on_training(const OperatorInfo& info) {
  return info.random || !info.states.empty() ||
         std::any_of(info.outputs.begin(), info.outputs.end(),
                     [](const auto& o) { return o.hidden; });
}

bool same_bytes(const Tensor& left, const Tensor& right) {
  return left && right && left.dtype() == right.dtype() && left.shape() == right.shape();
}

/// All variations of a sample's call: numbers, layouts, write modes and in-place use.
class CallVariations {
 public:
  CallVariations(DeviceComparison& call, const TestInput& sample, Result& result)
      : call_(call), sample_(sample), result_(result) {}

  void forward() {
    for (const auto numbers : {Numbers::positive, Numbers::both_signs}) {
      const auto memory = call_.forward_memory(numbers);
      test(memory, false, Layout::aligned, false, describe_numbers(numbers));
      if (numbers == Numbers::positive) try_layouts(memory, false);
      if (depends_on_training(info())) test(memory, false, Layout::aligned, true, "in training");
      if (info().accumulates)
        test(adding(memory), false, Layout::aligned, false, "with write mode add");
      for (const auto& [in, out] : info().inplace) {
        auto shared = memory;
        auto& input = shared.inputs[static_cast<std::size_t>(in)];
        auto& output = shared.outputs[static_cast<std::size_t>(out)];
        if (!same_bytes(input, output)) continue;
        output = input;
        shared.writes[static_cast<std::size_t>(out)] = TENON_WRITE_IN_PLACE;
        test(shared, false, Layout::aligned, false, "in place");
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
      test(all, true, Layout::aligned, true, describe_numbers(numbers));
      if (numbers == Numbers::positive) try_layouts(all, true);
      for (std::size_t i = 0; i < count; ++i) {
        if (!all.input_grads[i]) continue;
        std::vector<bool> one(count, false);
        one[i] = true;
        test(call_.backward_memory(numbers, one, true), true, Layout::aligned, true,
             "with one gradient requested");
      }
      if (info().accumulates) test(adding(all), true, Layout::aligned, true, "with write mode add");
      for (const auto& [out, in] : info().backward_inplace) {
        auto shared = all;
        auto& gradient = shared.input_grads[static_cast<std::size_t>(in)];
        const auto& output_grad = shared.output_grads[static_cast<std::size_t>(out)];
        if (!same_bytes(gradient, output_grad)) continue;
        gradient = output_grad;
        shared.writes[static_cast<std::size_t>(in)] = TENON_WRITE_IN_PLACE;
        test(shared, true, Layout::aligned, true, "in place");
      }
    }
  }

 private:
  const OperatorInfo& info() const { return call_.cpu_call().info(); }

  static const char* describe_numbers(Numbers numbers) {
    return numbers == Numbers::positive ? "" : "with numbers of both signs";
  }

  void try_layouts(const CallMemory& memory, bool backward) {
    test(memory, backward, Layout::unaligned, backward, "with unaligned inputs");
    if (info().strides) test(memory, backward, Layout::strided, backward, "with strided inputs");
  }

  static CallMemory adding(CallMemory memory) {
    for (auto& write : memory.writes)
      if (write == TENON_WRITE_TO) write = TENON_WRITE_ADD;
    return memory;
  }

  void test(const CallMemory& memory, bool backward, Layout layout, bool training,
            const char* description) {
    if (!result_.fault.empty()) return;
    ++result_.calls;
    std::string fault;
    try {
      fault = call_.compare(memory, backward, layout, training);
    } catch (const Failure& failure) {
      fault = fmt::format("{} refuses a call that the CPU accepts: {}",
                          call_.device_call().device().name(), failure.what());
    }
    if (fault.empty()) return;
    result_.fault = fmt::format("{}{}{}, with {}", fault, *description == 0 ? "" : ", ",
                                description, describe_sample(info(), sample_));
  }

  DeviceComparison& call_;
  const TestInput& sample_;
  Result& result_;
};

/// Some of the samples with another shared dtype, as far as infer() accepts them.
TestInputs with_dtype(const CheckedOperator& checked, const TestInputs& samples, DType shared) {
  TestInputs converted;
  for (const auto& sample : samples.found) {
    if (converted.found.size() == max_of_others) break;
    if (auto other = with_dtype(OperatorCall(checked.op, sample.attributes), sample, shared))
      converted.found.push_back(std::move(*other));
  }
  return converted;
}

/// Samples of a dtype other than the first. Another search would take most of the check's time.
TestInputs more_samples(const CheckedOperator& checked, DType first, DType dtype,
                        TestInputKind kind) {
  if (checked.calls.empty())
    if (auto converted = with_dtype(checked, find_samples(checked, first, kind), dtype);
        !converted.found.empty())
      return converted;
  return find_samples(checked, dtype, kind);
}

/// Calls test(sample) for samples of all kinds in every dtype that the operator supports.
template <class Test>
void each_dtype(const CheckedOperator& checked, Result& result, Test&& test) {
  std::optional<DType> first;
  for (const auto dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::boolean,
                           DType::u8, DType::i8, DType::i32, DType::i64}) {
    if (!allows(checked.op.info->types, dtype)) continue;
    for (const auto kind : {TestInputKind::ordinary, TestInputKind::odd, TestInputKind::empty,
                            TestInputKind::scalar, TestInputKind::large}) {
      if (kind == TestInputKind::large && first) continue;
      const auto samples =
          first ? more_samples(checked, *first, dtype, kind) : find_samples(checked, dtype, kind);
      result.refusals.add(samples.refusals);
      const auto max_samples = kind == TestInputKind::large ? max_large
                               : first                      ? max_of_others
                                                            : max_of_first_dtype;
      for (std::size_t i = 0;
           i < std::min(max_samples, samples.found.size()) && result.fault.empty(); ++i) {
        if (!is_for_devices(samples.found[i])) continue;
        report_call(*checked.op.info, samples.found[i]);
        test(samples.found[i]);
      }
    }
    if (!first) first = dtype;
  }
}

Outcome outcome_of(const Result& result) {
  if (!result.fault.empty()) return failed(result.fault);
  if (result.calls == 0) return untried(result.refusals);
  return passed(counted(result.calls, "call") + describe_repeated(result.repeated));
}

Outcome check_forward(const CheckedOperator& checked) {
  return with_device(checked, [&](Device& device) {
    Result result;
    each_dtype(checked, result, [&](const TestInput& sample) {
      DeviceComparison call(checked.op, sample, device, checked.seed);
      if (call.is_computed_on_device(false)) CallVariations(call, sample, result).forward();
      result.repeated += call.repeated();
    });
    return outcome_of(result);
  });
}

Outcome check_backward(const CheckedOperator& checked) {
  return with_device(checked, [&](Device& device) {
    const bool on_cpu = checked.op.kernel(TENON_CPU)->backward != nullptr,
               on_device = checked.op.kernel(TENON_CUDA)->backward != nullptr;
    if (!on_cpu)
      return skipped(on_device ? "the CPU has no backward kernel to compare with"
                               : "it has no backward kernel");
    if (!on_device)
      return Outcome{
          Verdict::warning,
          "its kernel has no backward, unlike the CPU's: training computes it on the CPU"};
    Result result;
    each_dtype(checked, result, [&](const TestInput& sample) {
      DeviceComparison call(checked.op, sample, device, checked.seed);
      if (sample.types.outputs.empty() ||
          !floating.has(static_cast<DType>(sample.types.outputs[0].dtype)))
        return;
      if (call.is_computed_on_device(true)) CallVariations(call, sample, result).backward();
      result.repeated += call.repeated();
    });
    return outcome_of(result);
  });
}

Outcome check_sparse_on_device(const CheckedOperator& checked) {
  return with_device(checked, [&](Device&) { return check_sparse(checked); });
}

struct CannotCapture : std::runtime_error {
  explicit CannotCapture(const std::string& reason)
      : runtime_error("its kernel is declared capturable, but cannot be captured: " + reason) {}
};

// steps of the random generator, which captured kernels must not read
constexpr std::uint64_t at_capture = 0, at_replay = 1;

std::string try_replays(DeviceComparison& call, const CheckedOperator& checked,
                        const TestInput& sample, Device& device) {
  const DeviceComparison other(checked.op, sample, device, checked.seed + 1000);
  if (!call.is_computed_on_device(false)) return {};
  for (const bool training : {false, true}) {
    const auto memory = call.forward_memory(Numbers::positive);
    auto fault =
        call.compare_replayed(memory, other.forward_memory(Numbers::both_signs), false, training);
    if (!fault.empty()) return fault;
  }
  const bool both =
      checked.op.kernel(TENON_CPU)->backward != nullptr && call.is_computed_on_device(true);
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
       check_sparse_on_device},
  };
  return all;
}

std::string DeviceComparison::compare_replayed(const CallMemory& first, CallMemory second,
                                               bool backward, bool training) {
  if (cpu_call_.info().allocates()) return {};
  Threads threads(1);
  for (std::size_t i = 0; i < first.inputs.size(); ++i)
    // a captured kernel has read it at capture time
    if (stays_on_cpu(i)) second.inputs[i] = first.inputs[i];
  const auto clone = [](const Tensor& tensor, bool) { return tensor.clone(); };
  const auto expected = second.with(clone);
  try {
    run_call(cpu_call_, sample_.types, first.with(clone), backward,
             {threads, seed_, at_capture, training});
    run_call(cpu_call_, sample_.types, expected, backward, {threads, seed_, at_replay, training});
  } catch (const Failure&) {
    return {};
  }
  try {
    const auto fault =
        differences(expected, replay(first, second, backward, training),
                    nearby(second, backward, training, [&](const CallMemory& inputs) {
                      return replay(first, inputs, backward, training).memory;
                    }));
    return fault.empty() ? fault : "replayed from a capture with other inputs, " + fault;
  } catch (const CannotCapture& failure) {
    return failure.what();
  }
}

DeviceComparison::DeviceResult DeviceComparison::replay(const CallMemory& first,
                                                        const CallMemory& second, bool backward,
                                                        bool training) const {
  Threads threads(1);
  auto device_memory = memory_for(first, Layout::aligned);
  const auto actual = to_device(device_memory, first, Layout::aligned);
  const PassedMemory passed(device_call_, sample_.types, actual, backward);
  auto types = sample_.types;
  OperatorRun run(device_call_, backward ? TENON_BACKWARD : TENON_FORWARD, types, passed.tensors(),
                  {threads, seed_, at_capture, training});
  device_memory.upload();
  run.launch();  // the first call lets the kernel initialize itself
  run.finish();
  std::optional<CapturedGraph> captured;
  try {
    captured.emplace(tensor_stream(device_call_.device()), [&] { run.launch(); });
  } catch (const std::exception& failure) {
    throw CannotCapture(failure.what());
  }
  for (const auto& [name, group] : tensor_groups)
    for (std::size_t i = 0; i < (actual.*group).size(); ++i)
      if ((actual.*group)[i] && (actual.*group)[i].device() != "cpu")
        device_memory.change((actual.*group)[i], (second.*group)[i]);
  device_memory.upload();
  captured->launch();
  run.finish();
  device_memory.download();
  return result_in(device_memory, actual);
}

Outcome check_capture(const CheckedOperator& checked) {
  return with_device(checked, [&](Device& device) {
    if ((checked.op.kernel(TENON_CUDA)->traits & TENON_TRAIT_CAPTURABLE) == 0)
      return skipped("its kernel is not declared capturable, so each run calls it");
    if (checked.op.info->random)
      return skipped("it draws new random numbers in each run, so each run calls it");
    std::size_t repeated = 0;
    const auto test = [&](const OperatorCall&, const TestInput& sample) {
      if (!is_for_devices(sample)) return std::string();
      DeviceComparison call(checked.op, sample, device, checked.seed);
      auto fault = try_replays(call, checked, sample, device);
      repeated += call.repeated();
      return fault;
    };
    auto outcome = each_sample(checked, TestInputKind::ordinary, test, 12, Draws::positive);
    if (outcome.verdict != Verdict::passed) return outcome;
    const auto large = each_sample(checked, TestInputKind::large, test, 2, Draws::positive);
    if (large.verdict == Verdict::failed) return large;
    outcome.sentence += describe_repeated(repeated);
    return outcome;
  });
}

}  // namespace tenon::checks

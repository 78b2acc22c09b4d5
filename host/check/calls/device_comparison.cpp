#include "check/calls/device_comparison.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tenon/visit.hpp>

#include "check/calls/test_call.hpp"
#include "graph/initialize.hpp"
#include "run/calls/operator_run.hpp"
#include "tensor/dtype_traits.hpp"

namespace tenon::checks {
namespace {

// Integers, and quarters from -4 to 4.
void fill_with_both_signs(const Tensor& tensor, std::uint64_t seed) {
  RandomBits generator(seed);
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    for (auto& value : tensor.values<T>()) {
      const auto quarters = static_cast<int>(generator() % 33) - 16;
      if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>)
        value = static_cast<T>(quarters > 0 ? quarters / 4 : 0);
      else if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(quarters / 4);
      else
        value = static_cast<T>(static_cast<float>(quarters) / 4);
    }
  });
}

Tensor numbers_of(const tenon_type& type, Numbers numbers, std::uint64_t seed) {
  auto tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
  if (numbers == Numbers::positive)
    fill_with_numbers(tensor, seed);
  else
    fill_with_both_signs(tensor, seed);
  return tensor;
}

bool near(double expected, double actual, double tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (expected == actual) return true;
  return std::isfinite(expected) &&
         std::abs(expected - actual) <= tolerance * (1 + std::abs(expected));
}

}  // namespace

std::string difference(const std::string& name, const Tensor& expected, const Tensor& actual,
                       const std::string& device, const std::string& reference) {
  if (same_bits(expected, actual)) return {};
  const auto left = doubles_of(expected), right = doubles_of(actual);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!near(left[i], right[i], traits_of(expected.dtype()).tolerance.devices))
      return fmt::format("element {} of {} is {} on {}, but {} on {}", i, name, right[i], device,
                         left[i], reference);
  return {};
}

bool has_backward(const LoadedOperator& op, const TestInput& sample) {
  const auto* const kernel = op.kernel(TENON_CPU);  // null for an operator composed of others
  return kernel != nullptr && kernel->backward != nullptr && !sample.types.outputs.empty() &&
         is_floating(sample.types.outputs[0]);
}

CallMemory DeviceComparison::forward_memory(Numbers numbers) const {
  CallMemory memory;
  const auto& info = cpu_call_.info();
  for (std::size_t i = 0; i < sample_.types.inputs.size(); ++i) {
    const auto& type = sample_.types.inputs[i];
    if (!type.present) {
      memory.inputs.emplace_back();
    } else if (numbers == Numbers::positive || sample_.has_elements(i) ||
               indices_of(info, sample_.types, i) > 0) {
      memory.inputs.push_back(Tensor::empty(static_cast<DType>(type.dtype), shape_of(type)));
      fill_input(memory.inputs.back(), info, sample_, i, seed_ + i);
    } else {
      memory.inputs.push_back(numbers_of(type, numbers, seed_ + i));
    }
  }
  for (std::size_t i = 0; i < sample_.types.outputs.size(); ++i)
    memory.outputs.push_back(info.allocates(i) ? Tensor()
                                               : numbers_of(sample_.types.outputs[i],
                                                            Numbers::positive, seed_ + 100 + i));
  for (std::size_t i = 0; i < sample_.types.states.size(); ++i)
    memory.states.push_back(first_state(info.states[i], sample_.types.states[i]));
  memory.writes.assign(memory.outputs.size(), TENON_WRITE_TO);
  return memory;
}

CallMemory DeviceComparison::backward_memory(Numbers numbers, const std::vector<bool>& requested,
                                             bool training) const {
  Threads threads(1);
  auto memory = run_call(cpu_call_, sample_.types, forward_memory(numbers), false,
                         {threads, seed_, 0, training});
  std::size_t next = 0;
  for (const auto& declared : cpu_call_.info().outputs)
    for (auto left = cpu_call_.count_of(declared); left > 0; --left, ++next) {
      const auto type = type_of(memory.outputs[next].dtype(), memory.outputs[next].shape());
      const bool has_gradient = !declared.hidden && floating.has(static_cast<DType>(type.dtype));
      memory.output_grads.push_back(has_gradient ? numbers_of(type, numbers, seed_ + 200 + next)
                                                 : Tensor());
    }
  memory.writes.clear();
  for (std::size_t i = 0; i < requested.size(); ++i) {
    const auto& type = sample_.types.inputs[i];
    const bool is_requested = requested[i] && is_floating(type);
    memory.input_grads.push_back(is_requested ? numbers_of(type, Numbers::positive, seed_ + 300 + i)
                                              : Tensor());
    memory.writes.push_back(is_requested ? TENON_WRITE_TO : TENON_WRITE_NONE);
  }
  return memory;
}

std::string DeviceComparison::compare(const CallMemory& memory, bool backward, Layout layout,
                                      bool training) const {
  if (cpu_call_.info().allocates()) return {};  // device memory for such outputs is not supported
  Threads threads(1);
  const CallContext context{.threads = threads, .seed = seed_, .training = training};
  const auto expected = memory.with([](const Tensor& tensor, bool) { return tensor.clone(); });
  try {
    run_call(cpu_call_, sample_.types, expected, backward, context);
  } catch (const Failure&) {
    return {};
  }
  auto device_memory = memory_for(memory, layout);
  const auto actual = to_device(device_memory, memory, layout);
  device_memory.upload();
  const PassedMemory passed(device_call_, sample_.types, actual, backward);
  auto types = sample_.types;
  OperatorRun run(device_call_, backward ? TENON_BACKWARD : TENON_FORWARD, types, passed.tensors(),
                  context);
  run.launch();
  device_memory.download();
  run.finish();
  return differences(expected, actual, device_memory);
}

DeviceMemory DeviceComparison::memory_for(const CallMemory& memory, Layout layout) const {
  std::int64_t bytes = 0;
  std::size_t count = 0;
  memory.with([&](const Tensor& tensor, bool) {
    bytes += tensor.bytes();
    ++count;
    return tensor;
  });
  return {bytes, count, layout, device_call_.device()};
}

CallMemory DeviceComparison::to_device(DeviceMemory& device_memory, const CallMemory& memory,
                                       Layout read) const {
  auto actual = memory.with([&](const Tensor& tensor, bool read_only) {
    return device_memory.add(tensor, read_only ? read : Layout::aligned);
  });
  for (std::size_t i = 0; i < actual.inputs.size(); ++i)
    if (actual.inputs[i] && stays_on_cpu(i)) actual.inputs[i] = memory.inputs[i].clone();
  return actual;
}

std::string DeviceComparison::differences(const CallMemory& expected, const CallMemory& actual,
                                          const DeviceMemory& device_memory) const {
  if (auto fault = device_memory.stray_write(); !fault.empty()) return fault;
  for (const auto& [name, group] : tensor_groups)
    for (std::size_t i = 0; i < (expected.*group).size(); ++i) {
      const auto& tensor = (expected.*group)[i];
      if (!tensor) continue;
      const auto& result = (actual.*group)[i];
      const auto found = result.device() == "cpu" ? result : device_memory.elements(result);
      if (auto fault = difference(fmt::format("{} {}", name, i), tensor, found,
                                  device_call_.device().name());
          !fault.empty())
        return fault;
    }
  return {};
}

}  // namespace tenon::checks

#include "check/calls/same_call.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tenon/visit.hpp>

#include "check/calls/test_call.hpp"
#include "graph/initialize.hpp"
#include "run/calls/operator_run.hpp"

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

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::c128:
      return 1e-9;
    case DType::f32:
    case DType::c64:
      return 1e-4;
    case DType::f16:
    case DType::bf16:
      return 2e-2;
    default:
      return 0;
  }
}

bool near(double here, double there, double tolerance) {
  if (std::isnan(here) || std::isnan(there)) return std::isnan(here) && std::isnan(there);
  if (here == there) return true;
  return std::isfinite(here) && std::abs(here - there) <= tolerance * (1 + std::abs(here));
}

}  // namespace

std::string difference(const std::string& name, const Tensor& here, const Tensor& there,
                       const std::string& device, const std::string& reference) {
  if (same_bits(here, there)) return {};
  const auto left = doubles_of(here), right = doubles_of(there);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!near(left[i], right[i], tolerance(here.dtype())))
      return fmt::format("element {} of {} is {} on {}, but {} on {}", i, name, right[i], device,
                         left[i], reference);
  return {};
}

bool has_backward(const LoadedOperator& op, const TestInput& sample) {
  const auto* const kernel = op.kernel(TENON_CPU);  // null for an operator composed of others
  return kernel != nullptr && kernel->backward != nullptr && !sample.types.outputs.empty() &&
         is_floating(sample.types.outputs[0]);
}

CallMemory SameCall::forward_memory(Numbers numbers) const {
  CallMemory memory;
  const auto& info = here_.info();
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

CallMemory SameCall::backward_memory(Numbers numbers, const std::vector<bool>& wanted,
                                     bool training) const {
  Threads threads(1);
  auto memory =
      run_call(here_, sample_.types, forward_memory(numbers), false, {threads, seed_, 0, training});
  std::size_t next = 0;
  for (const auto& declared : here_.info().outputs)
    for (auto left = here_.count_of(declared); left > 0; --left, ++next) {
      const auto type = type_of(memory.outputs[next].dtype(), memory.outputs[next].shape());
      const bool given = !declared.hidden && floating.has(static_cast<DType>(type.dtype));
      memory.output_grads.push_back(given ? numbers_of(type, numbers, seed_ + 200 + next)
                                          : Tensor());
    }
  memory.writes.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& type = sample_.types.inputs[i];
    const bool made = wanted[i] && is_floating(type);
    memory.input_grads.push_back(made ? numbers_of(type, Numbers::positive, seed_ + 300 + i)
                                      : Tensor());
    memory.writes.push_back(made ? TENON_WRITE_TO : TENON_WRITE_NONE);
  }
  return memory;
}

std::string SameCall::compare(const CallMemory& memory, bool backward, Lie lie,
                              bool training) const {
  if (here_.info().allocates()) return {};  // device memory for such outputs is not supported
  Threads threads(1);
  const CallContext context{.threads = threads, .seed = seed_, .training = training};
  const auto here = memory.with([](const Tensor& tensor, bool) { return tensor.clone(); });
  try {
    run_call(here_, sample_.types, here, backward, context);
  } catch (const Failure&) {
    return {};
  }
  auto far = memory_for(memory, lie);
  const auto there = in(far, memory, lie);
  far.upload();
  const PassedMemory passed(there_, sample_.types, there, backward);
  auto types = sample_.types;
  OperatorRun run(there_, backward ? TENON_BACKWARD : TENON_FORWARD, types, passed.tensors(),
                  context);
  run.launch();
  far.download();
  run.finish();
  return differences(here, there, far);
}

DeviceMemory SameCall::memory_for(const CallMemory& memory, Lie lie) const {
  std::int64_t bytes = 0;
  std::size_t count = 0;
  memory.with([&](const Tensor& tensor, bool) {
    bytes += tensor.bytes();
    ++count;
    return tensor;
  });
  return {bytes, count, lie, there_.device()};
}

CallMemory SameCall::in(DeviceMemory& far, const CallMemory& memory, Lie read) const {
  auto there = memory.with([&](const Tensor& tensor, bool read_only) {
    return far.add(tensor, read_only ? read : Lie::aligned);
  });
  for (std::size_t i = 0; i < there.inputs.size(); ++i)
    if (there.inputs[i] && stays(i)) there.inputs[i] = memory.inputs[i].clone();
  return there;
}

std::string SameCall::differences(const CallMemory& here, const CallMemory& there,
                                  const DeviceMemory& far) const {
  if (auto fault = far.stray_write(); !fault.empty()) return fault;
  for (const auto& [name, group] : tensor_groups)
    for (std::size_t i = 0; i < (here.*group).size(); ++i) {
      const auto& tensor = (here.*group)[i];
      if (!tensor) continue;
      const auto& result = (there.*group)[i];
      const auto found = result.device() == "cpu" ? result : far.elements(result);
      if (auto fault =
              difference(fmt::format("{} {}", name, i), tensor, found, there_.device().name());
          !fault.empty())
        return fault;
    }
  return {};
}

}  // namespace tenon::checks

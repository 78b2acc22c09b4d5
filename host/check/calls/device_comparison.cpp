#include "check/calls/device_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tenon/visit.hpp>

#include "check/calls/test_call.hpp"
#include "graph/initialize.hpp"
#include "run/calls/operator_run.hpp"
#include "tensor/dtype_traits.hpp"
#include "tensor/low_bit_tensor.hpp"

namespace tenon::checks {
namespace {

// Integers, and quarters from -4 to 4.
void fill_with_both_signs(const Tensor& tensor, std::uint64_t seed) {
  if (low_bit.has(tensor.dtype())) {
    const auto numbers = Tensor::empty(decoded_dtype(tensor.dtype()), tensor.shape());
    fill_with_both_signs(numbers, seed);
    return encode_elements(numbers, tensor);
  }
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

Tensor clone(const Tensor& tensor, bool) {
  return tensor.clone();
}

/// The dtype that determines how inputs are rounded.
DType dtype_of_numbers(const TestInput& sample) {
  for (const auto& type : sample.types.inputs)
    if (type.present && (floating + any_complex).has(static_cast<DType>(type.dtype)))
      return static_cast<DType>(type.dtype);
  return DType::i64;
}

/// In the order of tensor_groups.
std::vector<Tensor> all_tensors(const CallMemory& memory) {
  std::vector<Tensor> all;
  for (const auto& [name, group] : tensor_groups)
    all.insert(all.end(), (memory.*group).begin(), (memory.*group).end());
  return all;
}

}  // namespace

std::string difference(const ComparedResult& result, const Tensor& expected, const Tensor& actual) {
  if (same_bits(expected, actual)) return {};
  const auto left = doubles_of(expected), right = doubles_of(actual);
  const auto is_near = [tolerance = traits_of(expected.dtype()).tolerance.devices](
                           double one, double other) { return near(one, other, tolerance); };
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!is_near(left[i], right[i]) &&
        (result.nearby == nullptr ||
         !result.nearby->explain({result.index, i, left[i], right[i], is_near})))
      return fmt::format("element {} of {} is {} on {}, but {} on {}", i, result.name, right[i],
                         result.device, left[i], result.reference);
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
                                      bool training) {
  if (cpu_call_.info().allocates()) return {};  // device memory for such outputs is not supported
  Threads threads(1);
  const auto expected = memory.with(clone);
  try {
    run_call(cpu_call_, sample_.types, expected, backward, {threads, seed_, 0, training});
  } catch (const Failure&) {
    return {};
  }
  const auto run = [&](const CallMemory& inputs) {
    return run_on_device(inputs, backward, layout, training);
  };
  return differences(expected, run(memory),
                     nearby(memory, backward, training,
                            [&](const CallMemory& inputs) { return run(inputs).memory; }));
}

DeviceComparison::DeviceResult DeviceComparison::run_on_device(const CallMemory& memory,
                                                               bool backward, Layout layout,
                                                               bool training) const {
  Threads threads(1);
  auto device_memory = memory_for(memory, layout);
  const auto actual = to_device(device_memory, memory, layout);
  device_memory.upload();
  const PassedMemory passed(device_call_, sample_.types, actual, backward);
  auto types = sample_.types;
  OperatorRun run(device_call_, backward ? TENON_BACKWARD : TENON_FORWARD, types, passed.tensors(),
                  {threads, seed_, 0, training});
  run.launch();
  device_memory.download();
  run.finish();
  return result_in(device_memory, actual);
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

DeviceComparison::DeviceResult DeviceComparison::result_in(const DeviceMemory& device_memory,
                                                           const CallMemory& actual) const {
  return {actual.with([&](const Tensor& tensor, bool) {
            return tensor.device() == "cpu" ? tensor : device_memory.elements(tensor);
          }),
          device_memory.stray_write()};
}

std::string DeviceComparison::differences(const CallMemory& expected, const DeviceResult& result,
                                          NearbyCalls nearby) {
  if (!result.stray_write.empty()) return result.stray_write;
  ComparedResult compared{.device = device_call_.device().name(), .nearby = &nearby};
  for (const auto& [name, group] : tensor_groups)
    for (std::size_t i = 0; i < (expected.*group).size(); ++i, ++compared.index) {
      if (!(expected.*group)[i]) continue;
      compared.name = fmt::format("{} {}", name, i);
      if (auto fault = difference(compared, (expected.*group)[i], (result.memory.*group)[i]);
          !fault.empty())
        return fault;
    }
  repeated_ += nearby.ran() ? 1 : 0;
  return {};
}

CallMemory DeviceComparison::displaced(CallMemory memory, const Displacement& displacement,
                                       bool backward, bool training) const {
  for (std::size_t i = 0; i < memory.inputs.size(); ++i)
    if (!stays_on_cpu(i)) displacement.displace(memory.inputs[i], i);
  if (!backward) return memory;
  Threads threads(1);
  auto forward = forward_memory(Numbers::positive);
  forward.inputs = memory.inputs;
  forward = run_call(cpu_call_, sample_.types, forward, false, {threads, seed_, 0, training});
  memory.outputs = forward.outputs;
  memory.states = forward.states;
  return memory;
}

// Tensors that share memory have different dtypes here, so nothing is computed in place.
CallMemory DeviceComparison::displaced_in_own_dtype(const CallMemory& memory,
                                                    const Displacement& displacement, bool backward,
                                                    bool training) const {
  auto own = forward_memory(Numbers::positive);
  const auto convert = [](const Tensors& from, const std::vector<tenon_type>& types) {
    Tensors converted;
    for (std::size_t i = 0; i < from.size(); ++i)
      converted.push_back(from[i] ? elements_in(from[i], static_cast<DType>(types[i].dtype)).clone()
                                  : Tensor());
    return converted;
  };
  own.inputs = convert(memory.inputs, sample_.types.inputs);
  if (!backward) own.outputs = convert(memory.outputs, sample_.types.outputs);
  own.output_grads = convert(memory.output_grads, sample_.types.outputs);
  own.input_grads = convert(memory.input_grads, sample_.types.inputs);
  own.writes = memory.writes;
  std::replace(own.writes.begin(), own.writes.end(), std::uint8_t{TENON_WRITE_IN_PLACE},
               std::uint8_t{TENON_WRITE_TO});
  return displaced(std::move(own), displacement, backward, training);
}

NearbyCalls DeviceComparison::nearby(const CallMemory& memory, bool backward, bool training,
                                     Run run) const {
  const auto run_on_cpu = [backward, training](const DeviceComparison& call, CallMemory inputs) {
    Threads threads(1);
    return run_call(call.cpu_call_, call.sample_.types, std::move(inputs), backward,
                    {threads, call.seed_, 0, training});
  };
  const auto dtype = dtype_of_numbers(sample_);
  const auto inputs_near = [=, this](const Displacement& displacement) {
    return displaced(memory.with(clone), displacement, backward, training);
  };
  NearbyCalls::Call precise;
  if (const auto wide = widest_dtype(dtype); wide != dtype && allows(op_.info->types, wide))
    precise = [=, this](const Displacement& displacement) {
      return results_of([&] {
        const auto sample = with_dtype(cpu_call_, sample_, wide);
        if (!sample) throw Failure(FailureKind::failed, "it refuses the types");
        const DeviceComparison call(op_, *sample, cpu_device(), seed_);
        return all_tensors(run_on_cpu(
            call, call.displaced_in_own_dtype(memory, displacement, backward, training)));
      });
    };
  return NearbyCalls(
      dtype,
      [=, this](const Displacement& displacement) {
        return results_of(
            [&] { return all_tensors(run_on_cpu(*this, inputs_near(displacement))); });
      },
      [=](const Displacement& displacement) {
        return results_of([&] { return all_tensors(run(inputs_near(displacement))); });
      },
      std::move(precise));
}

}  // namespace tenon::checks

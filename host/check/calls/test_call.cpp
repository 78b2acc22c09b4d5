#include "check/calls/test_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/host/cast_storage.hpp>
#include <tenon/visit.hpp>
#include <utility>

#include "check/calls/call_memory.hpp"
#include "check/test_input.hpp"
#include "graph/composition.hpp"
#include "graph/initialize.hpp"
#include "tensor/low_bit_tensor.hpp"

namespace tenon::checks {
namespace {

template <class T>
T number(RandomBits& generator, int indices) {
  const auto bits = static_cast<int>(generator() % 1024);
  if constexpr (std::is_same_v<T, bool>) return bits % 2 == 1;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(indices > 0 ? bits % indices : 1 + bits % 4);
  if constexpr (is_complex<T>)
    return T(0.1F + 0.8F * static_cast<float>(bits + 1) / 1026.0F,
             0.5F - static_cast<float>(bits % 7) / 8.0F);
  return T(0.1F + 0.8F * static_cast<float>(bits + 1) / 1026.0F);
}

float ordinary_number(RandomBits& generator) {
  const auto kind = generator() % 8, size = generator() % 64 + 1;
  const float sign = generator() % 2 == 0 ? 1.0F : -1.0F;
  if (kind == 0) return sign * 0.0F;
  if (kind == 1) return sign;
  if (kind == 2) return sign * std::floor(static_cast<float>(size) / 4);
  return sign * static_cast<float>(size) / 4;
}

template <class T>
T special_number(RandomBits& generator) {
  using Limits = std::numeric_limits<float>;
  const double max_value = dtype_of<T> == DType::f64   ? std::numeric_limits<double>::max()
                           : dtype_of<T> == DType::f16 ? 65504
                                                       : 3.3e38;
  const double numbers[] = {Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            max_value,
                            -max_value,
                            1e-7,
                            -1e-7};
  return static_cast<T>(numbers[generator() % std::size(numbers)]);
}

}  // namespace

void fill_with_numbers(const Tensor& tensor, std::uint64_t seed, int indices) {
  if (low_bit.has(tensor.dtype())) {
    const auto numbers = Tensor::empty(decoded_dtype(tensor.dtype()), tensor.shape());
    fill_with_numbers(numbers, seed, indices);
    return encode_elements(numbers, tensor);
  }
  RandomBits generator(seed);
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    for (auto& value : tensor.values<T>()) value = number<T>(generator, indices);
  });
}

int indices_of(const OperatorInfo& info, const CallTypes& types, std::size_t i) {
  if (!info.inputs[declared_input(info, i)].types) return 0;
  const bool single =
      std::any_of(types.inputs.begin(), types.inputs.end(), [](const tenon_type& type) {
        return type.present && floating.has(static_cast<DType>(type.dtype)) &&
               std::find(type.dims, type.dims + type.rank, 1) != type.dims + type.rank;
      });
  return single ? 1 : 2;
}

void fill_input(const Tensor& tensor, const OperatorInfo& info, const TestInput& sample,
                std::size_t i, std::uint64_t seed) {
  if (sample.has_elements(i)) {
    const auto elements = elements_in(sample.elements[i], tensor.dtype());
    if (tensor.bytes() > 0)
      std::memcpy(tensor.data(), elements.data(), static_cast<std::size_t>(tensor.bytes()));
  } else if (const int indices = indices_of(info, sample.types, i); indices > 0) {
    fill_with_numbers(tensor, seed, indices);
  } else {
    fill_with_mixed_numbers(tensor, sample.numbers, seed);
  }
}

// A constant in all elements of an input, in every combination for the first few inputs; then
// ascending numbers.
std::vector<TestInput> with_other_elements(const OperatorInfo& info, const TestInput& sample) {
  constexpr std::size_t max_combined = 3;
  constexpr std::size_t choices = 4;
  std::vector<TestInput> all{sample};
  std::vector<std::size_t> index_inputs;
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    if (type.present && !sample.has_elements(i) &&
        any_integer.has(static_cast<DType>(type.dtype)) && indices_of(info, sample.types, i) > 0)
      index_inputs.push_back(i);
  }
  if (index_inputs.empty()) return all;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < std::min(max_combined, index_inputs.size()); ++i)
    combinations *= choices;
  for (std::size_t combination = 0; combination < combinations; ++combination) {
    auto& other = all.emplace_back(sample);
    other.elements.resize(sample.types.inputs.size());
    auto left = combination;
    for (const auto i : index_inputs) {
      const auto& type = sample.types.inputs[i];
      std::vector<double> numbers(static_cast<std::size_t>(element_count(type)));
      for (std::size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = std::array{1.0, 0.0, 2.0, static_cast<double>(k)}[left % choices];
      other.elements[i] = elements_in(numbers, static_cast<DType>(type.dtype), shape_of(type));
      left /= choices;
    }
  }
  return all;
}

std::optional<TestInput> accepted_by_kernel(const CheckedOperator& checked, const TestInput& sample,
                                            Refusals& refusals) {
  Threads threads(1);
  const OperatorCall call(checked.op, sample.attributes);
  report_call(*checked.op.info, sample, describe_numbers(sample.numbers));
  bool first = true;
  for (auto& other : with_other_elements(*checked.op.info, sample)) {
    if (!std::exchange(first, false))
      report_call(*checked.op.info, sample, ", with other elements");
    try {
      TestCall(call, other, checked.seed).run(threads);
      return std::move(other);
    } catch (const Failure& failure) {
      if (is_kernel_bug(failure)) throw;
      refusals.add(Refusals::kernel, failure.what());
    }
  }
  return std::nullopt;
}

const char* describe_numbers(Magnitude numbers) {
  switch (numbers) {
    case Magnitude::positive:
      return "";
    case Magnitude::ordinary:
      return ", numbers of both signs";
    case Magnitude::large:
      return ", large numbers";
    case Magnitude::small:
      return ", small numbers";
    case Magnitude::special:
      return ", infinities and nan among the numbers";
  }
  return "";
}

std::vector<double> doubles_of(const Tensor& tensor) {
  if (tensor.storage() != Storage::dense) return doubles_of(cast_storage(tensor, Storage::dense));
  if (low_bit.has(tensor.dtype())) return doubles_of(decoded(tensor));
  std::vector<double> doubles;
  doubles.reserve(static_cast<std::size_t>(tensor.shape().size()));
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    for (const auto value : tensor.values<T>()) {
      if constexpr (is_complex<T>)
        doubles.push_back(value.re), doubles.push_back(value.im);
      else
        doubles.push_back(static_cast<double>(value));
    }
  });
  return doubles;
}

int first_difference(const std::vector<Tensor>& left, const std::vector<Tensor>& right) {
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] && !same_bits(left[i], right[i])) return static_cast<int>(i);
  return -1;
}

std::string input_label(const OperatorInfo& info, std::size_t i) {
  return "input '" + name_of_input(info, i) + "'";
}

std::string output_label(const OperatorCall& call, std::size_t i) {
  for (const auto& output : call.info().outputs) {
    const std::size_t count = call.count_of(output);
    if (i < count)
      return "output '" + output.name + (output.count.empty() ? "" : std::to_string(i)) + "'";
    i -= count;
  }
  return "output " + std::to_string(i);
}

TestCall::TestCall(const OperatorCall& call, const TestInput& sample, std::uint64_t seed,
                   Placement placement, std::uint8_t fill)
    : call_(call), types_(sample.types), seed_(seed), placement_(placement), fill_(fill) {
  const auto make = [&](const tenon_type& type, std::uint8_t filled_with, const std::string& name) {
    return guarded_tensor(static_cast<DType>(type.dtype), shape_of(type), placement, filled_with,
                          name);
  };
  const auto& info = call.info();
  for (std::size_t i = 0; i < types_.inputs.size(); ++i) {
    auto& input = inputs.emplace_back();
    if (!types_.inputs[i].present) continue;
    input = make(types_.inputs[i], 0, input_label(info, i));
    fill_input(input, info, sample, i, seed + i);
  }
  for (std::size_t i = 0; i < types_.outputs.size(); ++i)
    outputs.push_back(info.allocates(i) ? Tensor()
                                        : make(types_.outputs[i], fill, output_label(call, i)));
  for (std::size_t i = 0; i < types_.states.size(); ++i) {
    const auto& state =
        states.emplace_back(make(types_.states[i], 0, "state '" + info.states[i].name + "'"));
    const auto first = first_state(info.states[i], types_.states[i]);
    if (first.bytes() > 0)
      std::memcpy(state.data(), first.data(), static_cast<std::size_t>(first.bytes()));
  }
}

SparseMemory::Source guarded_source(const OperatorCall& call,
                                    std::span<tenon_tensor* const> outputs, Placement placement,
                                    std::uint8_t fill) {
  // kernels get aligned memory from the host
  if (placement == Placement::unaligned) placement = Placement::aligned;
  return [=, &call](const tenon_tensor& tensor, std::int64_t bytes) {
    const auto output = static_cast<std::size_t>(
        std::find(outputs.begin(), outputs.end(), &tensor) - outputs.begin());
    const auto memory =
        guarded_tensor(DType::u8, {bytes}, placement, fill, output_label(call, output));
    count_elements_as(memory, static_cast<DType>(tensor.dtype));
    return memory;
  };
}

void TestCall::run(Threads& threads, tenon_write write) {
  CallTensors tensors;
  std::vector<tenon_tensor> changed;
  auto allocated = types_.outputs;  // the kernel writes their shapes
  for (const auto* group : {&outputs, &states})
    for (const auto& tensor : *group)
      changed.push_back(group == &outputs && call_.info().allocates(changed.size())
                            ? tenon::tensor_of(allocated[changed.size()], TENON_STORAGE_UNKNOWN)
                            : tensor.abi());
  for (const auto& input : inputs) tensors.inputs.push_back(input ? &input.abi() : nullptr);
  for (std::size_t i = 0; i < changed.size(); ++i)
    (i < outputs.size() ? tensors.outputs : tensors.states).push_back(&changed[i]);
  for (const auto& output : outputs) {
    bool shared = false;
    for (const auto& input : inputs)
      shared = shared || (input && output && input.data() == output.data());
    tensors.writes.push_back(static_cast<std::uint8_t>(shared ? TENON_WRITE_IN_PLACE : write));
  }
  SparseMemory memory(guarded_source(call_, tensors.outputs, placement_, fill_));
  const ForkGuard fork_guard;
  call_.forward(types_, tensors, {.threads = threads, .seed = seed_, .memory = &memory});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!call_.info().allocates(i)) continue;
    if (changed[i].storage != TENON_DENSE) throw Failure(FailureKind::failed, not_allocated(i));
    outputs[i] = memory.release(changed[i]);
  }
}

void fill_with_mixed_numbers(const Tensor& tensor, Magnitude magnitude, std::uint64_t seed) {
  const auto values = tensor.stored_values();
  if (magnitude == Magnitude::positive) return fill_with_numbers(values, seed);
  if (low_bit.has(values.dtype())) {
    const auto numbers = Tensor::empty(decoded_dtype(values.dtype()), values.shape());
    fill_with_mixed_numbers(numbers, magnitude, seed);
    return encode_elements(numbers, values);
  }
  const float scale = magnitude == Magnitude::large   ? 1024.0F
                      : magnitude == Magnitude::small ? 1 / 1024.0F
                                                      : 1.0F;
  RandomBits generator(seed);
  visit<every_type>(values.dtype(), [&]<class T>() {
    for (auto& value : values.values<T>()) {
      const float number = ordinary_number(generator);
      if constexpr (floating.has(dtype_of<T>))
        if (magnitude == Magnitude::special && generator() % 2 == 0) {
          value = special_number<T>(generator);
          continue;
        }
      if constexpr (std::is_same_v<T, bool>)
        value = number > 0;
      else if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(std::is_unsigned_v<T> && number < 0 ? -number : number);
      else
        value = static_cast<T>(scale * number);
    }
  });
}

HostOptions host_options(const CheckedOperator& checked) {
  HostOptions options;
  options.threads = 1;
  options.trust_writable = checked.trust_writable;
  // a composed operator may use any others
  options.search_defaults = checked.search_defaults || is_composed(checked.op);
  return options;
}

void add_operators(Host& host, const CheckedOperator& checked) {
  for (const auto& plugin : checked.plugins) host.add_plugins(plugin);
  if (checked.add_application_operator) checked.add_application_operator(host);
}

SingleNode::SingleNode(Host& host, const LoadedOperator& op, const TestInput& sample,
                       const std::vector<Tensor>& fixed)
    : graph(host) {
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    const auto name = fmt::format("input_{}", i);
    if (i < fixed.size() && fixed[i])
      inputs.push_back(graph.variable(name, fixed[i]));
    else if (is_input(sample, i))
      inputs.push_back(graph.input(name, static_cast<DType>(type.dtype), shape_of(type)));
    else
      inputs.push_back(type.present ? graph.constant(name, sample.elements[i]) : Value());
  }
  output = graph.add(op.info->full_name(), inputs, sample.attributes, "node");
}

void SingleNode::add_gradients(const TestInput& sample) {
  std::vector<Value> by;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (sample.types.inputs[i].present && is_floating(sample.types.inputs[i]))
      by.push_back(inputs[i]);
  int number = 0;
  try {
    for (const auto value : graph.gradient(output, by))
      if (!value.empty()) graph.output(fmt::format("gradient_{}", number++), value);
  } catch (const Failure&) {
    // It has no gradient.
  }
}

}  // namespace tenon::checks

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "check/calls/device_comparison.hpp"
#include "check/calls/test_call.hpp"
#include "tensor/channels_last.hpp"

namespace tenon::checks {
namespace {

/// The tensors of a call that are channels-last together.
struct ChannelsLastTensors {
  std::vector<bool> inputs, outputs;
};

ChannelsLastTensors channels_last_tensors(const OperatorCall& call, const TestInput& sample) {
  const auto& info = call.info();
  ChannelsLastTensors last;
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i)
    last.inputs.push_back(sample.types.inputs[i].present &&
                          info.channels_last_input[declared_input(info, i)]);
  for (std::size_t o = 0; o < info.outputs.size(); ++o)
    last.outputs.insert(last.outputs.end(), call.count_of(info.outputs[o]),
                        info.channels_last_output[o]);
  return last;
}

/// Sets the layouts; returns false if one of the types does not support it.
bool set_layouts(const ChannelsLastTensors& last, CallTypes& types) {
  const auto set = [](const std::vector<bool>& which, std::vector<tenon_type>& group) {
    bool fits = true;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!which[i]) continue;
      group[i].layout = TENON_LAYOUT_CHANNELS_LAST;
      fits = fits && may_be_channels_last(group[i].rank) && byte_count(group[i]) > 0;
    }
    return fits;
  };
  const bool inputs = set(last.inputs, types.inputs);
  return set(last.outputs, types.outputs) && inputs;
}

/// Channels-last copies of a call's tensors, at fixed addresses.
class ChannelsLastMemory {
 public:
  tenon_tensor* add(const Tensor& tensor, bool last) {
    if (!tensor) return nullptr;
    auto& copy = all_.emplace_back();
    copy.memory = tensor.clone();
    copy.raw = copy.memory.abi();
    if (!last) return &copy.raw;
    set_channels_last_strides(copy.raw.dense.shape, copy.raw.dense.ndim, copy.strides.data());
    copy.raw.dense.strides = copy.strides.data();
    const auto size = size_of(tensor.dtype());
    for (std::int64_t index = 0; index < tensor.size(); ++index)
      std::memcpy(
          static_cast<std::byte*>(copy.memory.data()) + static_cast<std::size_t>(index) * size,
          static_cast<const std::byte*>(tensor.data()) +
              static_cast<std::size_t>(row_major_index(copy.raw.dense, index)) * size,
          size);
    return &copy.raw;
  }

 private:
  struct TensorCopy {
    Tensor memory;
    tenon_tensor raw{};
    std::array<std::int64_t, TENON_MAX_RANK> strides{};
  };
  std::deque<TensorCopy> all_;
};

struct Calls {
  int compared = 0, unsupported = 0;
};

// Returns what differs; empty if nothing, or if the call cannot be compared.
std::string compare_layouts(const CheckedOperator& checked, const OperatorCall& call,
                            const TestInput& sample, Calls& calls) {
  const auto last = channels_last_tensors(call, sample);
  auto types = sample.types;
  if (!set_layouts(last, types)) return {};
  if (call.kernel(types) == nullptr) {
    ++calls.unsupported;
    return {};
  }
  Threads threads(1);
  TestCall plain(call, sample, checked.seed);
  const TestCall fresh(call, sample, checked.seed);
  plain.run(threads);
  ChannelsLastMemory memory;
  CallTensors tensors;
  for (std::size_t i = 0; i < fresh.inputs.size(); ++i)
    tensors.inputs.push_back(memory.add(fresh.inputs[i], last.inputs[i]));
  for (std::size_t o = 0; o < fresh.outputs.size(); ++o)
    tensors.outputs.push_back(memory.add(fresh.outputs[o], last.outputs[o]));
  for (const auto& state : fresh.states) tensors.states.push_back(memory.add(state, false));
  tensors.writes.assign(fresh.outputs.size(), TENON_WRITE_TO);
  const ForkGuard fork_guard;
  call.forward(types, tensors, {threads, checked.seed});
  ++calls.compared;
  for (std::size_t o = 0; o < plain.outputs.size(); ++o)
    if (auto fault =
            difference({.name = fmt::format("output {}", o), .device = "channels-last tensors"},
                       plain.outputs[o], Tensor::borrow(*tensors.outputs[o]).clone());
        !fault.empty())
      return fault;
  return {};
}

}  // namespace

Outcome check_layouts(const CheckedOperator& checked) {
  if (checked.op.info->channels_last.empty())
    return skipped("it does not declare support for channels-last tensors");
  constexpr std::size_t max_samples = 24;
  Calls calls;
  auto outcome = each_sample(
      checked, all_kinds,
      [&](const OperatorCall& call, const TestInput& sample) {
        return compare_layouts(checked, call, sample, calls);
      },
      max_samples);
  if (outcome.verdict != Verdict::passed) return outcome;
  if (calls.compared > 0) return passed(counted(calls.compared, "call"));
  return calls.unsupported > 0
             ? skipped("its kernel supports no call with channels-last tensors on this processor")
             : untried({});
}

}  // namespace tenon::checks

// The part of a plan that deals with GPUs: their streams, what their kernels report, and what the CPU gets of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "device/fault.hpp"
#include "device/memory.hpp"
#include "plan/plan.hpp"

namespace tenon {

static constexpr std::int64_t most_pinned = 64 << 20;  // of a plan: the system cannot swap it out

bool Plan::runs_kernel(std::size_t step, const Device& device) const {
  return &device_of(step) == &device && !graph_.copies_at(node_of(step));
}

void Plan::connect_gpus(Streams& streams) {
  std::vector<Device*> devices;
  const auto use = [&](const Device* device) {
    if (device == nullptr || device->is_cpu() || std::find(devices.begin(), devices.end(), device) != devices.end()) return;
    devices.push_back(const_cast<Device*>(device));
  };
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    use(copied_from(step));
    use(&device_of(step));
  }
  for (const auto& [variable, value] : memory_.copies) use(graph_.places[variable]);
  for (auto* device : devices) connect_gpu(streams.of(*device), devices.size() > 1);
  if (!gpus_.empty()) put_off_outputs();
}

void Plan::connect_gpu(const Stream& stream, bool several) {
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t step = 0; step < steps_.size(); ++step)
    if (runs_kernel(step, stream.device())) kernels.push_back(step);
  auto& gpu = gpus_.emplace_back(Gpu{stream, Faults(stream, std::move(kernels))});
  for (std::size_t i = 0; i < gpu.faults.steps().size(); ++i) {
    const auto step = gpu.faults.steps()[i];
    calls_[step].stream = stream.handle();
    calls_[step].fault = gpu.faults.word(i);
    if (several) {
      other_gpu_steps_.push_back({&stream.device(), steps_[step]});
      steps_[step] = {run_on_gpu, &other_gpu_steps_.back(), &calls_[step]};
    }
  }
}

std::int32_t Plan::run_on_gpu(void* self, const tenon_call* call) {
  const auto& [device, step] = *static_cast<OtherGpuStep*>(self);
  try {
    device->make_current();
  } catch (const std::exception& failure) {
    call->error->kind = TENON_ERROR_FAILED;
    std::snprintf(call->error->text, call->error->capacity, "%s", failure.what());
    return 1;
  }
  return step.function(step.instance, call);
}

// What only the caller reads comes when all is done. Outputs too large for pinned memory are waited for where they are copied.
void Plan::put_off_outputs() {
  std::int64_t bytes = 0;
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const auto copy = graph_.copies[i].copy;
    const auto& outputs = graph_.model.outputs;
    const auto names = std::count_if(outputs.begin(), outputs.end(), [&](const auto& output) { return output.second == copy; });
    if (!graph_.places[copy]->is_cpu() || names == 0 || memory_.readers[copy] != static_cast<std::uint32_t>(names)) continue;
    if (memory_.types[copy].storage != TENON_DENSE || copies_[i].bytes() > most_pinned - bytes) continue;
    put_off_.push_back(&copies_[i]);
    offsets.push_back(bytes);
    bytes += static_cast<std::int64_t>(align_up(static_cast<std::uint64_t>(copies_[i].bytes())));
  }
  if (put_off_.empty()) return;
  pinned_.emplace(gpus_.front().stream.device(), static_cast<std::uint64_t>(bytes), "the plan's outputs");
  for (std::size_t i = 0; i < put_off_.size(); ++i) put_off_[i]->put_off(pinned_->data() + offsets[i]);
}

const std::vector<Step>& Plan::start() {
  if (!gpus_.empty()) gpus_.front().stream.device().make_current();  // where there are several, each step says which
  return steps_;
}

void Plan::finish() {
  update_variables();
  for (auto& gpu : gpus_) gpu.faults.fetch();
  for (auto& gpu : gpus_) {
    const auto& device = gpu.stream.device();
    try {
      gpu.stream.synchronize();
    } catch (const Failure& failure) {
      const auto nodes = nodes_before(steps_.size(), device);
      throw Failure(failure.kind(), fmt::format("{}{}{}", nodes, nodes.empty() ? "" : ": ", failure.what()), failure.hint());
    }
  }
  for (auto& gpu : gpus_) report_fault(gpu);
  for (const auto* copy : put_off_) copy->deliver();
}

void Plan::report_fault(Gpu& gpu) const {
  for (std::size_t i = 0; i < gpu.faults.steps().size(); ++i) {
    const auto found = gpu.faults.found(i);
    if (found.kind == TENON_FAULT_NONE) continue;
    gpu.faults.clear();
    throw failure_at(gpu.faults.steps()[i], fault_text(found));
  }
}

void Plan::abandon() noexcept {
  for (auto& gpu : gpus_) {
    try {
      gpu.stream.synchronize();
      gpu.faults.clear();
    } catch (const std::exception&) {
      // the first failure is on its way already
    }
  }
}

void Plan::wait_for(std::size_t step) {
  for (auto& gpu : gpus_) {
    if (&gpu.stream.device() != &device_of(step) && &gpu.stream.device() != copied_from(step)) continue;
    try {
      gpu.stream.synchronize();
    } catch (const Failure& failure) {
      throw failure_at(step, failure.what(), failure.hint());
    }
  }
}

void Plan::update_variables() {
  for (const auto& [variable, value] : memory_.copies) {
    auto &from = tensors_[value].dense, &to = tensors_[variable].dense;
    auto& device = *graph_.places[variable];
    const auto bytes = byte_count(memory_.types[variable]);
    if (bytes <= 0 || to.data == nullptr) continue;
    const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& each) { return &each.stream.device() == &device; });
    if (gpu == gpus_.end())
      std::memcpy(to.data, from.data, static_cast<std::size_t>(bytes));
    else
      copy({device, static_cast<std::byte*>(to.data)}, {device, static_cast<std::byte*>(from.data)}, static_cast<std::uint64_t>(bytes),
           gpu->stream);
  }
}

// `nodes 'a' to 'b'`: the kernels that the device was asked for since somebody last waited for it; empty where there are none.
std::string Plan::nodes_before(std::size_t step, const Device& device) const {
  std::size_t first = step;
  for (auto at = step; at-- > 0;) {
    if (copied_from(at) == &device && copies_[graph_.copy_of[node_of(at)]].waits()) break;
    if (runs_kernel(at, device)) first = at;
  }
  while (step > first && !runs_kernel(step - 1, device)) --step;
  if (first == step) return {};
  const auto& model = graph_.model;
  const auto name = [&](std::size_t at) { return model.strings[model.nodes[node_of(at)].name]; };
  return first + 1 == step ? fmt::format("node '{}'", name(first)) : fmt::format("nodes '{}' to '{}'", name(first), name(step - 1));
}

}  // namespace tenon

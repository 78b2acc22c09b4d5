// The part of a plan that deals with GPUs: their streams, what their kernels report, and what the CPU gets of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/fault.hpp"
#include "device/memory.hpp"
#include "plan/call_failure.hpp"
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
  if (!gpus_.empty()) pin_copies();
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
  const auto& own = *static_cast<const OtherGpuStep*>(self);
  return failure_to_call(*call, [&] {
    own.device->make_current();
    return own.step.function(own.step.instance, call);
  });
}

// Between the CPU and a GPU; of what comes to the CPU, outputs that only the caller reads.
bool Plan::may_pin(std::size_t i) const {
  const auto [node, value, copy] = graph_.copies[i];
  const auto& outputs = graph_.model().outputs;
  const auto readers = memory_.readers[copy];
  if (memory_.types[copy].storage != TENON_DENSE || readers == 0) return false;
  if (!graph_.places[copy]->is_cpu()) return graph_.places[value]->is_cpu();
  return readers == std::count_if(outputs.begin(), outputs.end(), [&, id = copy](const auto& output) { return output.second == id; });
}

// What is too large is waited for where it is copied.
void Plan::pin_copies() {
  std::int64_t bytes = 0;
  std::vector<std::pair<CopyStep*, std::int64_t>> pinned;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    auto& copy = copies_[i];
    if (!may_pin(i) || copy.bytes() > most_pinned - bytes) continue;
    pinned.emplace_back(&copy, bytes);
    if (graph_.places[graph_.copies[i].copy]->is_cpu()) put_off_.push_back(&copy);
    bytes += static_cast<std::int64_t>(align_up(static_cast<std::uint64_t>(copy.bytes())));
  }
  if (pinned.empty()) return;
  pinned_.emplace(gpus_.front().stream.device(), static_cast<std::uint64_t>(bytes), "what the plan copies");
  for (const auto& [copy, offset] : pinned) copy->pin(pinned_->data() + offset);
}

// The same work in every run, but for the memory that outside_ tells of.
bool Plan::is_capturable(std::size_t step, const Kernels& kernels) const {
  const auto id = node_of(step);
  const auto& device = device_of(step);
  if (device.is_cpu() || graph_.copies_at(id) || graph_.sparse[id] || graph_.binding().nodes[id].op->info->random) return false;
  return (kernels.of(graph_.model(), id, device).table()->traits & TENON_TRAIT_CAPTURABLE) != 0;
}

// What makes a value that a copy waits for, or copies for long, ends its stretch: others tell of it only when all of them are done.
std::vector<bool> Plan::nodes_before_copies() const {
  std::vector<bool> found(graph_.model().nodes.size());
  for (std::size_t i = 0; i < copies_.size(); ++i)
    if (const auto producer = graph_.model().values[graph_.copies[i].value].producer; producer != none)
      if (copies_[i].waits() || copies_[i].is_large()) found[producer] = true;
  return found;
}

void Plan::find_stretches(const Kernels& kernels) {
  const auto last = nodes_before_copies();
  for (std::uint32_t begin = 0, end = 0; begin < steps_.size(); begin = std::max(end, begin + 1)) {
    end = begin;
    while (end < steps_.size() && &device_of(end) == &device_of(begin) && is_capturable(end, kernels))
      if (last[node_of(end++)]) break;
    if (end - begin < 2) continue;  // one call is one call
    stretches_.push_back({begin, end, {steps_.begin() + begin, steps_.begin() + end}, nullptr});
  }
}

void Plan::capture_stretches() {
  if (stretches_.empty()) return;
  for (const auto input : graph_.model().inputs)
    if (!graph_.places[input]->is_cpu()) outside_.push_back(input);
  for (const auto& [value, written] : memory_.given_out_writes)
    if (!graph_.places[value]->is_cpu()) outside_.push_back(value);
  captures_.emplace(std::move(stretches_), steps_);
}

void Plan::start_steps() {
  if (!gpus_.empty()) gpus_.front().stream.device().make_current();  // where there are several, each step says which
}

const std::vector<Step>& Plan::start() {
  start_steps();
  if (!captures_) return steps_;
  key_.clear();
  for (const auto value : outside_) {
    key_.push_back(reinterpret_cast<std::uint64_t>(tensors_[value].dense.data));
    if (const auto written = memory_.given_out_writes.find(value); written != memory_.given_out_writes.end())
      key_.push_back(memory_.writes[written->second.write]);
  }
  return captures_->steps_for(key_);
}

// A failure is that of what the GPU was doing.
template <class Work>
void Plan::for_each_gpu(Work work) {
  for (auto& gpu : gpus_) {
    try {
      work(gpu);
    } catch (const Failure& failure) {
      const auto nodes = nodes_before(steps_.size(), gpu.stream.device());
      throw Failure(failure.kind(), fmt::format("{}{}{}", nodes, nodes.empty() ? "" : ": ", failure.what()), failure.hint());
    }
  }
}

void Plan::finish() {
  for_each_gpu([](Gpu& gpu) { gpu.last->begin(); });
  update_variables();
  for_each_gpu([](Gpu& gpu) { gpu.faults.fetch(); });
  for_each_gpu([](Gpu& gpu) { gpu.stream.synchronize(); });
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
  const auto attempt = [](auto&& work) {
    try {
      work();
    } catch (const std::exception&) {
      // the first failure is on its way already
    }
  };
  for (const auto& line : lines_) attempt([&] { line.synchronize(); });
  for (auto& gpu : gpus_) attempt([&] { gpu.faults.clear(); });
}

void Plan::wait_for(std::size_t step) {
  const auto* stream = stream_of(step);
  if (stream == nullptr) return;
  try {
    stream->synchronize();
  } catch (const Failure& failure) {
    throw failure_at(step, failure.what(), failure.hint());
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

// `nodes 'a' to 'b'`: the kernels that the device was asked for and that nobody knows to be done; empty where there are none.
std::string Plan::nodes_before(std::size_t step, const Device& device) const {
  const auto& values = graph_.model().values;
  std::size_t first = step;
  std::vector<NodeId> done;  // a copy waited for what they made
  for (auto at = step; at-- > 0 && std::find(done.begin(), done.end(), node_of(at)) == done.end();) {
    if (copied_from(at) == &device && copies_[graph_.copy_of[node_of(at)]].waits())
      done.push_back(values[graph_.copies[graph_.copy_of[node_of(at)]].value].producer);
    if (runs_kernel(at, device)) first = at;
  }
  while (step > first && !runs_kernel(step - 1, device)) --step;
  if (first == step) return {};
  const auto& model = graph_.model();
  const auto name = [&](std::size_t at) { return model.strings[model.nodes[node_of(at)].name]; };
  return first + 1 == step ? fmt::format("node '{}'", name(first)) : fmt::format("nodes '{}' to '{}'", name(first), name(step - 1));
}

}  // namespace tenon

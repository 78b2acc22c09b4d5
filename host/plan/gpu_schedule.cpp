#include "plan/gpu_schedule.hpp"

#include <algorithm>
#include <optional>

#include "device/memory.hpp"
#include "graph/inference/operator_inference.hpp"
#include "plan/dependencies.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

// for each plan; pinned memory cannot be swapped out
constexpr std::int64_t max_staging = 64 << 20;

class Scheduling {
 public:
  Scheduling(const LoweredGraph& graph, const MemoryPlan& memory, const Kernels& kernels)
      : graph_(graph), memory_(memory), kernels_(kernels) {}

  GpuSchedule run(bool capture) {
    find_devices();
    schedule_.staging.assign(graph_.copies.size(), -1);
    if (schedule_.devices.empty()) return std::move(schedule_);
    stage_copies();
    find_work(capture);
    find_streams();
    order_work();
    if (std::any_of(schedule_.work.begin(), schedule_.work.end(),
                    [](const auto& work) { return work.is_segment(); }))
      find_key();
    return std::move(schedule_);
  }

 private:
  NodeId node_of(std::uint32_t step) const { return memory_.order[step]; }
  Device& device_of(std::uint32_t step) const { return *graph_.devices[node_of(step)]; }
  std::uint32_t steps() const { return static_cast<std::uint32_t>(memory_.order.size()); }

  void find_devices();
  bool may_stage(const DeviceCopy& copy) const;
  void stage_copies();
  bool is_capturable(std::uint32_t step) const;
  std::vector<bool> nodes_before_copies() const;
  void find_work(bool capture);
  std::optional<PlannedStream> stream_of_step(std::uint32_t step) const;
  std::uint32_t number_of(const PlannedStream& stream) const;
  void find_streams();
  void add_access(ValueId value, bool written);
  void add_buffer(std::uint32_t buffer, bool written);
  void find_accesses(const StreamWork& work);
  void submit(StreamWork& work, DependencyTracker& tracker);
  void order_work();
  std::int64_t outside_arenas(const Device& device) const;
  template <class Visit>
  void for_each_read_on_cpu(std::uint32_t step, Visit&& visit) const;
  void find_key();

  const LoweredGraph& graph_;
  const MemoryPlan& memory_;
  const Kernels& kernels_;
  GpuSchedule schedule_;
  std::vector<MemoryAccess> accesses_;  // of the current piece of work
};

void Scheduling::find_devices() {
  auto& devices = schedule_.devices;
  const auto use = [&](Device* device) {
    if (!device->is_cpu() && std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  };
  for (const auto id : memory_.order) {
    if (graph_.copies_at(id))
      use(graph_.value_devices[graph_.source_of(graph_.copies[graph_.copy_of[id]])]);
    use(graph_.devices[id]);
  }
  for (const auto& [variable, value] : memory_.copies) use(graph_.value_devices[variable]);
}

// Copies between the CPU and a GPU; of those to the CPU, outputs that only the caller reads.
bool Scheduling::may_stage(const DeviceCopy& copy) const {
  const auto readers = memory_.readers[copy.copy];
  if (memory_.types[copy.copy].storage != TENON_DENSE || readers == 0) return false;
  if (!graph_.value_devices[copy.copy]->is_cpu())
    return graph_.value_devices[graph_.source_of(copy)]->is_cpu();
  const auto& outputs = graph_.model().outputs;
  return readers == std::count_if(outputs.begin(), outputs.end(),
                                  [&](const auto& output) { return output.second == copy.copy; });
}

// Copies that exceed the limit are not staged; the submitting thread waits for those.
void Scheduling::stage_copies() {
  for (std::uint32_t i = 0; i < graph_.copies.size(); ++i) {
    const auto& copy = graph_.copies[i];
    const auto bytes = byte_count(memory_.types[copy.copy]);
    if (!may_stage(copy) || bytes > max_staging - schedule_.staging_bytes) continue;
    schedule_.staging[i] = schedule_.staging_bytes;
    if (graph_.value_devices[copy.copy]->is_cpu()) schedule_.delivered.push_back(i);
    schedule_.staging_bytes += static_cast<std::int64_t>(
        align_up(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1))));
  }
}

// Calls visit(value) for each input whose elements the step's kernel reads on the CPU.
template <class Visit>
void Scheduling::for_each_read_on_cpu(std::uint32_t step, Visit&& visit) const {
  const auto id = node_of(step);
  const auto& node = graph_.model().nodes[id];
  const auto& inputs = graph_.binding().nodes[id].info->inputs;
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = graph_.model().edges[node.first_edge + i];
    const auto& input = inputs[std::min<std::size_t>(i, inputs.size() - 1)];
    if (value != none && input.on_cpu && !input.shape_only) visit(value);
  }
}

// Whether the step does the same work in every run, except for the addresses of `rebound` and the
// elements of `read_constants`.
bool Scheduling::is_capturable(std::uint32_t step) const {
  const auto id = node_of(step);
  const auto& device = device_of(step);
  if (device.is_cpu() || graph_.copies_at(id) || graph_.sparse[id] ||
      graph_.binding().nodes[id].info->random)
    return false;
  // The captured launch bakes in the values that the kernel read there.
  bool reads_others = false;
  for_each_read_on_cpu(step, [&](ValueId value) {
    reads_others = reads_others || graph_.model().values[value].role != Role::constant ||
                   byte_count(memory_.types[value]) > max_bytes_for_infer;
  });
  if (reads_others) return false;
  const auto& node = graph_.model().nodes[id];
  for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
    if (memory_.types[value].storage == TENON_STORAGE_UNKNOWN)
      return false;  // its kernel waits for the size
  return (graph_.kernel_of(id, kernels_).table()->traits & TENON_TRAIT_CAPTURABLE) != 0;
}

// The producer of a value whose copy is waited for, or takes long, ends its segment: the event
// after a segment signals completion of the whole segment only.
std::vector<bool> Scheduling::nodes_before_copies() const {
  std::vector<bool> found(graph_.model().nodes.size());
  for (std::uint32_t i = 0; i < graph_.copies.size(); ++i) {
    const auto& copy = graph_.copies[i];
    const auto& type = memory_.types[copy.copy];
    const bool large =
        type.storage == TENON_DENSE && is_known(type) && byte_count(type) >= large_copy;
    if (const auto producer = graph_.model().values[graph_.source_of(copy)].producer;
        producer != none)
      if (large || schedule_.waits_for(graph_, i)) found[producer] = true;
  }
  return found;
}

void Scheduling::find_work(bool capture) {
  const auto last = nodes_before_copies();
  for (std::uint32_t begin = 0, end = 0; begin < steps(); begin = end) {
    end = begin;
    while (capture && end < steps() && &device_of(end) == &device_of(begin) && is_capturable(end))
      if (last[node_of(end++)]) break;
    end = std::max(end, begin + 1);
    if (stream_of_step(begin)) schedule_.work.push_back({begin, end, 0, {}});
  }
}

// Returns the step's stream; nullopt if the CPU runs the step synchronously.
std::optional<PlannedStream> Scheduling::stream_of_step(std::uint32_t step) const {
  if (const auto id = node_of(step); graph_.copies_at(id))
    return stream_of(graph_, memory_.types, graph_.copies[graph_.copy_of[id]]);
  if (device_of(step).is_cpu()) return std::nullopt;
  return PlannedStream{&device_of(step), StreamRole::kernels};
}

std::uint32_t Scheduling::number_of(const PlannedStream& stream) const {
  const auto& streams = schedule_.streams;
  return static_cast<std::uint32_t>(std::find(streams.begin(), streams.end(), stream) -
                                    streams.begin());
}

void Scheduling::find_streams() {
  const auto use = [&](const PlannedStream& stream) {
    if (number_of(stream) == schedule_.streams.size()) schedule_.streams.push_back(stream);
  };
  for (const auto& work : schedule_.work) use(*stream_of_step(work.begin));
  for (auto* device : schedule_.devices) use({device, StreamRole::kernels});
  for (auto& work : schedule_.work) work.stream = number_of(*stream_of_step(work.begin));
  schedule_.work_of.assign(steps(), none);
  for (std::uint32_t i = 0; i < schedule_.work.size(); ++i)
    std::fill(schedule_.work_of.begin() + schedule_.work[i].begin,
              schedule_.work_of.begin() + schedule_.work[i].end, i);
  for (auto* device : schedule_.devices)
    schedule_.work.push_back({steps(), steps(), number_of({device, StreamRole::kernels}), {}});
}

// The tracker numbers the bytes of all arenas consecutively, followed by two virtual bytes for each
// GPU. The first stands for all memory of the caller on that GPU, where tensors may overlap. All
// work reads the second, and the end of a run writes it.
std::int64_t Scheduling::outside_arenas(const Device& device) const {
  const auto& devices = schedule_.devices;
  return memory_.bytes() +
         2 * (std::find(devices.begin(), devices.end(), &device) - devices.begin());
}

void Scheduling::add_buffer(std::uint32_t buffer, bool written) {
  auto begin = memory_.offsets[buffer];
  for (std::uint32_t i = 0; i < memory_.arena_of[buffer]; ++i)
    begin += memory_.arenas[i].placement.bytes;
  accesses_.push_back({begin, begin + memory_.buffers[buffer].bytes, written});
}

void Scheduling::add_access(ValueId value, bool written) {
  if (value == none || graph_.value_devices[value]->is_cpu()) return;
  if (const auto buffer = memory_.buffer_of[memory_.root[value]]; buffer != none)
    return add_buffer(buffer, written);
  const auto outside = outside_arenas(*graph_.value_devices[value]);
  accesses_.push_back({outside, outside + 1, written});
}

void Scheduling::find_accesses(const StreamWork& work) {
  const auto& model = graph_.model();
  accesses_.clear();
  for (auto step = work.begin; step < work.end; ++step) {
    const auto& node = model.nodes[node_of(step)];
    const auto& forward = forward_of(model, node);
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      add_access(model.edges[node.first_edge + i], false);
    for (std::uint32_t i = 0; i < forward.state_count; ++i)
      add_access(model.edges[forward.first_edge + forward.input_count + i], true);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (memory_.writes[memory_.first_write[step] + i] != TENON_WRITE_NONE)
        add_access(node.first_output + i, true);
    if (const auto buffer = memory_.workspace_buffer[step];
        buffer != none && !device_of(step).is_cpu())
      add_buffer(buffer, true);
  }
}

void Scheduling::submit(StreamWork& work, DependencyTracker& tracker) {
  const auto run = outside_arenas(*schedule_.streams[work.stream].device) + 1;
  find_accesses(work);
  accesses_.push_back({run, run + 1, work.begin == work.end});
  work.after = tracker.add(work.stream, accesses_);
  for (const auto earlier : work.after) schedule_.work[earlier].recorded = true;
}

// A segment is one piece of work: it starts when the dependencies of all its steps are done, and
// others wait for its end.
void Scheduling::order_work() {
  DependencyTracker tracker(static_cast<std::uint32_t>(schedule_.streams.size()));
  for (std::uint32_t i = 0; i < schedule_.work.size(); ++i) {
    auto& work = schedule_.work[i];
    submit(work, tracker);
    if (work.begin == work.end) continue;
    if (const auto id = node_of(work.begin);
        graph_.copies_at(id) && schedule_.waits_for(graph_, graph_.copy_of[id]))
      tracker.finished(i);
  }
}

void Scheduling::find_key() {
  for (const auto input : graph_.model().inputs)
    if (!graph_.value_devices[input]->is_cpu()) schedule_.rebound.push_back(input);
  for (const auto& [value, written] : memory_.output_writes)
    if (!graph_.value_devices[value]->is_cpu()) schedule_.rebound.push_back(value);
  for (const auto& work : schedule_.work)
    for (auto step = work.begin; work.is_segment() && step < work.end; ++step)
      for_each_read_on_cpu(step, [&](ValueId value) { schedule_.read_constants.push_back(value); });
}

}  // namespace

const char* name_of(StreamRole role) {
  switch (role) {
    case StreamRole::to_device:
      return "copies to the device";
    case StreamRole::from_device:
      return "copies from the device";
    case StreamRole::kernels:
      break;
  }
  return "kernels";
}

PlannedStream stream_of(const LoweredGraph& graph, const std::vector<tenon_type>& types,
                        const DeviceCopy& copy) {
  Device &from = *graph.value_devices[graph.source_of(copy)], &to = *graph.value_devices[copy.copy];
  Device& own = to.is_cpu() ? from : to;
  if (types[copy.copy].storage != TENON_DENSE) return {&own, StreamRole::kernels};
  return {&own, to.is_cpu() ? StreamRole::from_device : StreamRole::to_device};
}

void schedule_gpus(PlanDraft& draft) {
  draft.plan->gpus =
      Scheduling(draft.graph(), draft.memory(), draft.kernels).run(draft.request.capture);
}

}  // namespace tenon

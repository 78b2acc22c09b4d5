#include "run/execution/gpu_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/fault.hpp"
#include "run/execution/step_failure.hpp"

namespace tenon {

GpuExecution::GpuExecution(const Plan& plan, StepCalls& calls, const PlanTensors& tensors,
                           std::deque<CopyStep>& copies, Streams& streams, const Arenas& arenas)
    : plan_(plan), calls_(calls), tensors_(tensors), copies_(copies), steps_(calls.steps()) {
  for (const auto& stream : plan.gpus.streams) streams_.push_back(streams.of(stream));
  for (auto* device : plan.gpus.devices) add_device(*device, streams);
  stage_copies(arenas);
  add_syncs();
  auto segments = find_segments();
  wrap_steps();
  if (!segments.empty()) captures_.emplace(std::move(segments), steps_);
}

void GpuExecution::add_device(Device& device, Streams& streams) {
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t step = 0; step < plan_.step_count(); ++step)
    if (runs_kernel(plan_, step, device)) kernels.push_back(step);
  const auto& stream = streams.of(device);
  const auto& faults = gpus_.emplace_back(Gpu{stream, Faults(stream, std::move(kernels))}).faults;
  for (std::size_t i = 0; i < faults.steps().size(); ++i) {
    auto& call = calls_[faults.steps()[i]];
    call.stream = stream.handle();
    call.fault = faults.fault(i);
  }
}

void GpuExecution::stage_copies(const Arenas& arenas) {
  const auto& gpus = plan_.gpus;
  for (std::size_t i = 0; i < gpus.staging.size(); ++i)
    if (gpus.staging[i] >= 0) copies_[i].stage(arenas.staging() + gpus.staging[i]);
}

void GpuExecution::add_syncs() {
  const auto& work = plan_.gpus.work;
  for (const auto& each : work) {
    auto& sync = syncs_.emplace_back(StreamSync{streams_[each.stream], {}, {}});
    if (each.recorded) sync.after.emplace(sync.stream.device());
    for (const auto earlier : each.after) sync.before.push_back(&*syncs_[earlier].after);
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    gpus_[i].end = &syncs_[work.size() - gpus_.size() + i];
}

std::vector<CaptureSegment> GpuExecution::find_segments() const {
  std::vector<CaptureSegment> segments;
  for (std::size_t i = 0; i < plan_.gpus.work.size(); ++i)
    if (const auto& work = plan_.gpus.work[i]; work.is_segment())
      segments.push_back({work.begin,
                          work.end,
                          {steps_.begin() + work.begin, steps_.begin() + work.end},
                          &syncs_[i]});
  return segments;
}

void GpuExecution::wrap_steps() {
  const bool several = gpus_.size() > 1;
  const auto& work_of = plan_.gpus.work_of;
  for (std::uint32_t step = 0; step < steps_.size(); ++step) {
    if (work_of[step] == none) continue;
    const auto& work = plan_.gpus.work[work_of[step]];
    const auto& sync = syncs_[work_of[step]];
    auto* device = several && plan_.copy_of(step) == none ? &plan_.device_of(step) : nullptr;
    const auto* begin = step == work.begin && !sync.is_free() ? &sync : nullptr;
    const auto* end = step + 1 == work.end && !sync.is_free() ? &sync : nullptr;
    if (device == nullptr && begin == nullptr && end == nullptr) continue;
    steps_[step] = {GpuStep::run,
                    &gpu_steps_.emplace_back(GpuStep{steps_[step], device, begin, end}),
                    steps_[step].call, steps_[step].running};
  }
}

namespace {

void append_elements(std::vector<std::uint64_t>& key, const tenon_type& type,
                     const tenon_tensor& tensor) {
  const auto bytes = static_cast<std::size_t>(byte_count(type));
  const auto first = key.size();
  key.resize(first + (bytes + sizeof key[0] - 1) / sizeof key[0]);
  if (bytes > 0) std::memcpy(key.data() + first, tensor.dense.data, bytes);
}

}  // namespace

const std::vector<Step>& GpuExecution::start(bool captured) {
  if (!captured || !captures_) return steps_;
  key_.clear();
  for (const auto value : plan_.gpus.rebound) {
    key_.push_back(reinterpret_cast<std::uint64_t>(tensors_[value].dense.data));
    if (const auto written = plan_.memory.output_writes.find(value);
        written != plan_.memory.output_writes.end())
      key_.push_back(calls_.write(written->second.write));
  }
  // the application may have written to them
  for (const auto value : plan_.gpus.read_constants)
    append_elements(key_, plan_.types()[value], tensors_[value]);
  return captures_->steps_for(key_);
}

const Stream* GpuExecution::stream_of(const Device& device) const {
  const auto gpu = std::find_if(gpus_.begin(), gpus_.end(),
                                [&](const Gpu& each) { return &each.stream.device() == &device; });
  return gpu == gpus_.end() ? nullptr : &gpu->stream;
}

// A failure that is found here belongs to the work that the GPU was doing.
template <class Work>
void GpuExecution::for_each_gpu(Work work) {
  for (auto& gpu : gpus_) {
    try {
      work(gpu);
    } catch (const Failure& failure) {
      const auto nodes = nodes_before(plan_, plan_.step_count(), gpu.stream.device());
      throw Failure(failure.kind(),
                    fmt::format("{}{}{}", nodes, nodes.empty() ? "" : ": ", failure.what()),
                    failure.hint());
    }
  }
}

void GpuExecution::join() {
  for_each_gpu([](Gpu& gpu) { gpu.end->begin(); });
}

void GpuExecution::finish() {
  for_each_gpu([](Gpu& gpu) { gpu.faults.fetch(); });
  for_each_gpu([](Gpu& gpu) { gpu.stream.synchronize(); });
  for (auto& gpu : gpus_) report_fault(gpu);
  for (const auto copy : plan_.gpus.delivered) copies_[copy].deliver();
}

void GpuExecution::report_fault(Gpu& gpu) const {
  for (std::size_t i = 0; i < gpu.faults.steps().size(); ++i) {
    const auto found = gpu.faults.found(i);
    if (found.kind == TENON_FAULT_NONE) continue;
    gpu.faults.clear();
    throw failure_at(plan_, gpu.faults.steps()[i], fault_text(found));
  }
}

void GpuExecution::abandon() noexcept {
  const auto attempt = [](auto&& work) {
    try {
      work();
    } catch (const std::exception&) {
      // the first failure is already being reported
    }
  };
  for (const auto& stream : streams_) attempt([&] { stream.synchronize(); });
  for (auto& gpu : gpus_) attempt([&] { gpu.faults.clear(); });
}

void GpuExecution::wait_for(std::size_t step) const {
  if (plan_.gpus.work_of[step] == none) return;
  try {
    streams_[plan_.gpus.work[plan_.gpus.work_of[step]].stream].synchronize();
  } catch (const Failure& failure) {
    throw failure_at(plan_, step, failure.what(), failure.hint());
  }
}

}  // namespace tenon

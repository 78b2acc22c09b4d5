// What a plan does on GPUs: which stream runs what, what waits for what, what is captured, and which copies are staged. Plain data.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// Copies have streams of their own, so that kernels run meanwhile.
enum class StreamRole : std::uint8_t { kernels, to_device, from_device };
const char* name_of(StreamRole role);

/// A copy of that many bytes takes longer than launching a few kernels: it is worth running beside kernels.
inline constexpr std::int64_t large_copy = 1 << 20;

struct PlannedStream {
  Device* device;
  StreamRole role;
  bool operator==(const PlannedStream&) const = default;
};

/// Steps [begin, end) that a stream runs one after the other: one step, or kernels that are captured as one CUDA graph. The end of a run on
/// a device is work without steps.
struct StreamWork {
  std::uint32_t begin, end, stream;
  std::vector<std::uint32_t> after;                    ///< earlier work, on other streams, that it waits for
  bool recorded = false;                               ///< other work waits for it: an event is recorded behind it
  bool is_segment() const { return end - begin > 1; }  ///< a capture segment
};

/// All vectors are empty where no step runs on a GPU.
struct GpuSchedule {
  std::vector<Device*> devices;          ///< GPUs, in the order in which steps use them
  std::vector<PlannedStream> streams;    ///< the kernels' streams of all devices are among them
  std::vector<std::uint32_t> work_of;    ///< for each step: in `work`; none: the CPU runs it when it is called
  std::vector<StreamWork> work;          ///< in program order; behind it the end of the run on each of `devices`
  std::vector<std::int64_t> staging;     ///< for each copy: its offset in pinned memory; -1: it is not staged
  std::int64_t staging_bytes = 0;        ///< of pinned memory
  std::vector<std::uint32_t> delivered;  ///< staged copies to the CPU, which are copied on when the run is over
  std::vector<ValueId> rebound;          ///< what captured kernels may read or write at an address that differs between runs

  /// Whether the thread that submits the copy waits for it.
  bool waits_for(const Lowered& graph, std::uint32_t copy) const {
    return graph.places[graph.copies[copy].copy]->is_cpu() && staging[copy] < 0;
  }
};

/// The stream of a copy. Sparse ones are among the kernels: how much they copy is known only when their source has been computed.
PlannedStream stream_of(const Lowered& graph, const std::vector<tenon_type>& types, const DeviceCopy& copy);

}  // namespace tenon

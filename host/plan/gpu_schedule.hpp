// A plan's work on GPUs as plain data: streams, waits, captured segments and staged copies.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// Copies use streams of their own and thus overlap with kernels.
enum class StreamRole : std::uint8_t { kernels, to_device, from_device };
const char* name_of(StreamRole role);

/// Bytes from which a copy takes longer than launching a few kernels, so overlapping it with
/// kernels pays off.
inline constexpr std::int64_t large_copy = 1 << 20;

struct PlannedStream {
  Device* device;
  StreamRole role;
  bool operator==(const PlannedStream&) const = default;
};

/// Steps [begin, end) that run in order on one stream: a single step, or kernels captured as one
/// CUDA graph. The end of a run on a device is work without steps.
struct StreamWork {
  std::uint32_t begin, end, stream;
  std::vector<std::uint32_t> after;  ///< earlier work on other streams that it waits for
  /// other work waits for it, so an event is recorded after it
  bool recorded = false;
  bool is_segment() const { return end - begin > 1; }  ///< a capture segment
};

/// All vectors are empty if no step runs on a GPU.
struct GpuSchedule {
  std::vector<Device*> devices;        ///< GPUs, in order of first use
  std::vector<PlannedStream> streams;  ///< including the kernel streams of all devices
  /// for each step: index into `work`; none: the CPU runs it synchronously
  std::vector<std::uint32_t> work_of;
  /// in program order, followed by the end of the run for each of `devices`
  std::vector<StreamWork> work;
  std::vector<std::int64_t>
      staging;                     ///< for each copy: its offset in pinned memory; -1: not staged
  std::int64_t staging_bytes = 0;  ///< of pinned memory
  std::vector<std::uint32_t>
      delivered;  ///< staged copies to the CPU, copied to their targets after the run
  std::vector<ValueId>
      rebound;  ///< values that captured kernels use at addresses that differ between runs
  std::vector<ValueId>
      read_constants;  ///< those whose elements captured kernels read on the CPU: a captured launch
                       ///< contains what follows from them

  /// Whether the submitting thread waits for the copy.
  bool waits_for(const LoweredGraph& graph, std::uint32_t copy) const {
    return graph.value_devices[graph.copies[copy].copy]->is_cpu() && staging[copy] < 0;
  }
};

/// Returns the stream of a copy. Sparse copies use the kernels' stream: their size is known only
/// when the source has been computed.
PlannedStream stream_of(const LoweredGraph& graph, const std::vector<tenon_type>& types,
                        const DeviceCopy& copy);

}  // namespace tenon

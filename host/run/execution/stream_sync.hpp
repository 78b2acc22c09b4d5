// Ordering between streams around a piece of work.
#pragma once
#include <optional>
#include <vector>

#include "device/stream.hpp"
#include "run/execution/step.hpp"

namespace tenon {

/// The stream waits for the events `before` the work and records the event `after` it for others.
/// The `before` events outlive this.
struct StreamSync {
  Stream stream;
  std::vector<const Event*> before;
  std::optional<Event> after;

  bool is_free() const { return before.empty() && !after; }
  void begin() const {
    for (const auto* event : before) stream.wait(*event);
  }
  void end() const {
    if (after) after->record(stream);
  }
};

/// A step that a GPU runs, with the synchronization before and after it.
struct GpuStep {
  Step step;
  Device* device;                 ///< made current first, if a plan uses several GPUs
  const StreamSync *begin, *end;  ///< null if no work begins, or ends, with this step

  /// A step's function; `self` is a GpuStep.
  static std::int32_t run(void* self, const tenon_call* call);
};

}  // namespace tenon

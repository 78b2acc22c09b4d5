// Order between streams, around work that one of them runs.
#pragma once
#include <optional>
#include <vector>

#include "device/stream.hpp"
#include "run/execution/step.hpp"

namespace tenon {

/// The stream waits for the events `before` the work, and records an event `after` it for others. The events waited for outlive this.
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

/// A step that a GPU runs, with what goes around it; null: nothing.
struct GpuStep {
  Step step;
  Device* device;                 ///< to be made current, where a plan uses several
  const StreamSync *begin, *end;  ///< of the work that begins, or ends, with this step

  /// A step's function; `self` is a GpuStep.
  static std::int32_t run(void* self, const tenon_call* call);
};

}  // namespace tenon

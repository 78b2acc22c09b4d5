// When a piece of a plan's work is done, where that is on several streams.
#pragma once
#include <optional>
#include <vector>

#include "device/stream.hpp"
#include "plan/step.hpp"

namespace tenon {

/// Around a step, or around a stretch of them that a GPU is asked for as one. The events waited for outlive it.
struct Turn {
  Stream stream;
  std::vector<const Event*> before;  // that it waits for
  std::optional<Event> after;        // where others wait for it

  bool is_free() const { return before.empty() && !after; }
  void begin() const {
    for (const auto* event : before) stream.wait(*event);
  }
  void end() const {
    if (after) after->record(stream);
  }
};

/// A step that begins a turn, or ends one, or both; null: it does not.
struct StepInTurn {
  Step step;
  const Turn *begins, *ends;

  /// A step's function; `self` is a StepInTurn.
  static std::int32_t run(void* self, const tenon_call* call);
};

}  // namespace tenon

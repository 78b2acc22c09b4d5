// Concurrent kernels and copies of a simulated GPU.
#pragma once

namespace simulated {

enum class Kind { kernel, copy };

/// In flight for this scope, which tests may extend until an operation of the other kind has
/// started and ended meanwhile, or until a time limit. Operations that should have waited for this
/// one thus always run first.
class InFlight {
 public:
  InFlight(int device, Kind kind);
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  int device_;
  Kind kind_;
};

}  // namespace simulated

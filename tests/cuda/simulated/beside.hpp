// Kernels and copies that a simulated GPU has in flight at once.
#pragma once

namespace simulated {

enum class Kind { kernel, copy };

/// In flight for this scope, which tests may make long: until one of the other kind has begun and ended beside it, or time is up. So what
/// should have waited always comes first.
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

// The streams of a session.
#pragma once
#include <map>
#include <utility>

#include "device/stream.hpp"
#include "plan/gpu_schedule.hpp"

namespace tenon {

/// One stream per device and role, created on first use. Threads: one at a time.
class Streams {
 public:
  const Stream& of(Device& device, StreamRole role = StreamRole::kernels) {
    return streams_.try_emplace({&device, role}, device).first->second;
  }
  const Stream& of(const PlannedStream& stream) { return of(*stream.device, stream.role); }

 private:
  std::map<std::pair<Device*, StreamRole>, Stream> streams_;
};

}  // namespace tenon

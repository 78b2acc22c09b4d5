// The streams of a session.
#pragma once
#include <map>

#include "device/stream.hpp"

namespace tenon {

/// One for each device, made when it is first needed. Threads: one at a time.
class Streams {
 public:
  const Stream& of(Device& device) { return streams_.try_emplace(&device, device).first->second; }

 private:
  std::map<Device*, Stream> streams_;
};

}  // namespace tenon

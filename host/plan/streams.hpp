// The streams of a session.
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "device/stream.hpp"

namespace tenon {

/// What a stream is for: copies have their own, so that kernels go on meanwhile.
enum class Line : std::uint8_t { kernels, to_device, from_device };

/// One for each device and line, made when it is first needed. Threads: one at a time.
class Streams {
 public:
  const Stream& of(Device& device, Line line = Line::kernels) { return streams_.try_emplace({&device, line}, device).first->second; }

 private:
  std::map<std::pair<Device*, Line>, Stream> streams_;
};

}  // namespace tenon

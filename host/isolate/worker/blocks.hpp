// The host's shared memory in a worker's conversation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "isolate/protocol.hpp"

namespace tenon::isolate {

/// Receives a message with at most two descriptors; bytes is 0 if the host is gone. Throws
/// ProtocolError.
struct Received {
  BlockNotice notice{};
  std::size_t bytes = 0;
  int descriptors[2] = {-1, -1};
};
Received receive(int socket);

/// Blocks stay mapped until the host releases them. Not thread-safe.
class Blocks {
 public:
  /// Receives `count` notices from the socket. Throws ProtocolError.
  void accept(int socket, std::uint32_t count);
  /// Returns null for block 0. Throws ProtocolError if the range is not inside a block.
  std::byte* at(const BlockPosition& position, std::uint64_t bytes = 0) const;

 private:
  struct Mapped {
    std::byte* data;
    std::uint64_t bytes;
  };
  std::unordered_map<std::uint64_t, Mapped> blocks_;
};

}  // namespace tenon::isolate

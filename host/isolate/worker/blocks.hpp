// The host's memory that a conversation of the worker sees.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "isolate/protocol.hpp"

namespace tenon::isolate {

/// A message from a socket with at most two descriptors; bytes 0: the host is gone. Throws ProtocolError.
struct Received {
  BlockNotice notice{};
  std::size_t bytes = 0;
  int descriptors[2] = {-1, -1};
};
Received receive(int socket);

/// Mapped until the host says that they are of no use. Threads: one at a time.
class Blocks {
 public:
  /// Takes so many notices from the socket. Throws ProtocolError.
  void accept(int socket, std::uint32_t count);
  /// Null for block 0. Throws ProtocolError for what is in no block.
  std::byte* at(const Place& place, std::uint64_t bytes = 0) const;

 private:
  struct Mapped {
    std::byte* data;
    std::uint64_t bytes;
  };
  std::unordered_map<std::uint64_t, Mapped> blocks_;
};

}  // namespace tenon::isolate

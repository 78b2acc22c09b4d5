#include "isolate/worker/blocks.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isolate/mapping.hpp"
#include "isolate/message.hpp"

namespace tenon::isolate {

Received receive(int socket) {
  Received received;
  iovec payload{&received.notice, sizeof received.notice};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof received.descriptors)] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t bytes_read = 0;
  do bytes_read = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (bytes_read < 0 && errno == EINTR);
  if (bytes_read < 0) throw ProtocolError("cannot read the socket");
  received.bytes = static_cast<std::size_t>(bytes_read);
  for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const auto bytes = header->cmsg_len - CMSG_LEN(0);
    std::memcpy(received.descriptors, CMSG_DATA(header),
                bytes < sizeof received.descriptors ? bytes : sizeof received.descriptors);
  }
  return received;
}

void Blocks::accept(int socket, std::uint32_t count) {
  for (; count > 0; --count) {
    const auto [notice, bytes, descriptors] = receive(socket);
    if (bytes != sizeof notice) throw ProtocolError("a block notice is truncated");
    if (const auto known = blocks_.find(notice.block); known != blocks_.end()) {
      munmap(known->second.data, known->second.bytes);
      blocks_.erase(known);
    }
    if (notice.forget != 0) continue;
    const int protection = PROT_READ | (notice.writable != 0 ? PROT_WRITE : 0);
    void* memory = map_shared(descriptors[0], notice.bytes, protection);
    close(descriptors[0]);
    if (memory == MAP_FAILED) throw ProtocolError("cannot map memory shared by the host");
    blocks_.emplace(notice.block, Mapped{static_cast<std::byte*>(memory), notice.bytes});
  }
}

std::byte* Blocks::at(const BlockPosition& position, std::uint64_t bytes) const {
  if (position.block == 0) return nullptr;
  const auto found = blocks_.find(position.block);
  if (found == blocks_.end()) throw ProtocolError("unknown block");
  const auto& block = found->second;
  if (position.offset > block.bytes || bytes > block.bytes - position.offset)
    throw ProtocolError("offset past the end of its block");
  return block.data + position.offset;
}

}  // namespace tenon::isolate

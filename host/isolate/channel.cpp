#include "isolate/channel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <tenon/detail/host_error.hpp>
#include <utility>

#include "device/float_modes.hpp"
#include "device/memory.hpp"
#include "device/process_limits.hpp"
#include "io/counted.hpp"
#include "io/system_reason.hpp"
#include "isolate/message.hpp"
#include "isolate/shared_memory.hpp"
#include "isolate/turns.hpp"
#include "isolate/worker_process.hpp"

namespace tenon {

using namespace isolate;

namespace {

constexpr std::uint64_t min_buffer_bytes = 64 << 10;
constexpr std::uint32_t max_forgotten = 64;  // per request; a socket buffers about 200 notices

/// Spinning pays off only with a core per side.
std::uint32_t spin_ns() {
  static const std::uint32_t ns = usable_cores().count() > 1 ? 30'000 : 0;
  return ns;
}

}  // namespace

bool send_descriptors(int socket, const BlockNotice& notice, std::span<const int> descriptors) {
  iovec payload{const_cast<BlockNotice*>(&notice), sizeof notice};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof notice);
}

Channel::Channel(std::uint32_t number, std::uint64_t max_bytes)
    : number_(number),
      max_bytes_(max_bytes),
      control_(sizeof(Control), SharedBlock::Access::write, "a conversation") {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Failure(FailureKind::failed,
                  "cannot communicate with a worker process: " + system_reason(errno));
  socket_ = OpenFile(ends[0]);
  worker_socket_ = OpenFile(ends[1]);
  control().spin_ns = spin_ns();
}

SharedBlock& Channel::buffer(std::size_t which, std::uint64_t bytes) {
  while (buffers_.size() <= which) buffers_.emplace_back();
  auto& buffer = buffers_[which];
  if (buffer != nullptr && buffer->bytes() >= bytes) return *buffer;
  if (max_bytes_ > 0 && bytes > max_bytes_)
    throw Failure(FailureKind::failed, "its tensors need " + readable_bytes(bytes) +
                                           ", but the limit for isolated operators is " +
                                           readable_bytes(max_bytes_));
  if (buffer != nullptr) forget(*buffer);
  buffer.reset();
  const bool read = which == messages || which == inputs;
  auto larger = std::make_unique<SharedBlock>(
      std::max(bytes, min_buffer_bytes),
      read ? SharedBlock::Access::read : SharedBlock::Access::write, "its tensors");
  announce(*larger);
  buffer = std::move(larger);
  return *buffer;
}

// For reading, a block is mapped separately from where it may be written: a kernel that writes to
// an input crashes without changing anything.
std::uint64_t Channel::share(const SharedBlock& block, SharedBlock::Access access) {
  constexpr std::uint64_t for_reading = std::uint64_t{1} << 63;
  const bool writes = access == SharedBlock::Access::write;
  const auto number = block.id() | (writes ? 0 : for_reading);
  if (shared_.contains(number)) return number;
  std::erase_if(shared_, [&](std::uint64_t known) {
    if (new_blocks_ >= max_forgotten || shared_memory::exists(known & ~for_reading)) return false;
    send({known, 0, 0, 1}, -1);
    return true;
  });
  const auto read_only = block.open_for_reading();
  if (!writes && read_only.descriptor() < 0) return 0;
  send({number, block.bytes(), writes ? 1u : 0u, 0},
       writes ? block.descriptor() : read_only.descriptor());
  shared_.insert(number);
  return number;
}

void Channel::announce(const SharedBlock& block) {
  send({block.id(), block.bytes(), block.access() == SharedBlock::Access::write ? 1u : 0u, 0},
       block.descriptor());
}

void Channel::forget(const SharedBlock& block) {
  send({block.id(), 0, 0, 1}, -1);
}

// A worker that has ended has closed its socket; waiting for its answer reports that.
void Channel::send(const BlockNotice& notice, int descriptor) {
  if (send_descriptors(socket_.descriptor(), notice,
                       std::span(&descriptor, descriptor < 0 ? 0 : 1)))
    ++new_blocks_;
  else if (errno == EAGAIN)
    throw Failure(FailureKind::failed,
                  "too many memory blocks announced to its worker process in one call");
}

const Report& Channel::exchange(WorkerProcess& worker, Operation operation, std::uint64_t instance,
                                std::span<const std::byte> message, std::uint64_t reply_bytes,
                                CallbackHandler* handler) {
  const auto& out = buffer(messages, message.size());
  const auto& in = buffer(replies, reply_bytes);
  if (!message.empty()) std::memcpy(out.data(), message.data(), message.size());
  control().request = {new_blocks_,    operation,    instance,    {out.id(), 0},
                       message.size(), {in.id(), 0}, reply_bytes, FloatModes::now().bits()};
  new_blocks_ = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (const auto seconds = worker.options().call_seconds; seconds > 0)
    deadline = std::chrono::steady_clock::now() +
               std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  auto next = Turn::request;
  std::uint32_t callbacks = 0;
  for (;;) {
    pass_turn(control(), next, control().worker_sleeps);
    const auto turn = wait(worker, deadline ? &*deadline : nullptr);
    try {
      if (turn != Turn::reply && turn != Turn::callback)
        throw ProtocolError("it set an invalid turn");
      if (turn == Turn::callback && (handler == nullptr || ++callbacks > callback_limit))
        throw ProtocolError("it made a callback that is not allowed here");
      read_report(reply_bytes);
      if (turn == Turn::reply) return report_;
      answer(handler);
      next = Turn::resume;
    } catch (const ProtocolError& error) {
      worker.end(std::string("violated the protocol (") + error.what() + ") and was ended");
      throw Failure(FailureKind::failed, worker.end_sentence(number_));
    }
  }
}

Turn Channel::wait(WorkerProcess& worker, const std::chrono::steady_clock::time_point* deadline) {
  auto turn = Turn::ended;
  if (!worker.ended()) {
    turn = wait_for_turn(
        control(), spin_ns(), control().host_sleeps,
        [](Turn t) { return t == Turn::request || t == Turn::resume; }, deadline);
    if (turn == Turn::request || turn == Turn::resume) {
      auto seconds = std::to_string(worker.options().call_seconds);
      seconds.erase(seconds.find_last_not_of('0') + 1);
      if (seconds.back() == '.') seconds.pop_back();
      worker.end("did not answer within " + seconds + " s and was ended");
      turn = Turn::ended;
    }
  }
  if (turn == Turn::ended) {
    if (!worker.ended())
      worker.end("violated the protocol (it claims to have ended) and was ended");
    throw Failure(FailureKind::failed, worker.end_sentence(number_));
  }
  return turn;
}

// Reads it once, because shared memory may change while it is being checked.
void Channel::read_report(std::uint64_t capacity) {
  const auto& shared = control().report;
  std::memcpy(&report_, &shared, offsetof(Report, text));
  report_.text[0] = '\0';
  if (report_.status != 0) {
    std::memcpy(report_.text, shared.text, sizeof report_.text);
    report_.text[sizeof report_.text - 1] = '\0';
  }
  if (report_.bytes > capacity) throw ProtocolError("a reply exceeds its buffer");
  reply_.resize(static_cast<std::size_t>(report_.bytes));
  if (!reply_.empty()) std::memcpy(reply_.data(), buffers_[replies]->data(), reply_.size());
}

void Channel::answer(CallbackHandler* handler) {
  Resume resume{};
  tenon_error error{sizeof error, TENON_ERROR_FAILED, 0, resume.text, sizeof resume.text};
  try {
    handler->answer(report_, reply_, resume);
  } catch (const ProtocolError&) {
    throw;
  } catch (...) {
    write_current_exception(&error);
    resume.status = 1;
    resume.error_kind = error.kind;
  }
  resume.new_blocks = std::exchange(new_blocks_, 0);
  std::memcpy(&control().resume, &resume, sizeof resume);
}

}  // namespace tenon

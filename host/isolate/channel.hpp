// The host's end of a conversation with a worker.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "io/open_file.hpp"
#include "isolate/protocol.hpp"
#include "isolate/shared_block.hpp"

namespace tenon {

class WorkerProcess;
using isolate::Control;

/// Answers what the worker asks in the middle of a request.
class CallbackHandler {
 public:
  virtual ~CallbackHandler() = default;
  /// What it throws becomes the answer; ProtocolError ends the worker.
  virtual void answer(const isolate::Report& question, std::span<const std::byte> payload, isolate::Resume& resume) = 0;
};

/// Threads: one at a time.
class Channel {
 public:
  Channel(std::uint32_t number, std::uint64_t most_bytes);

  /// Memory of the channel's own, kept for the next request; content as it was left there. Throws Failure where it is more than a call may
  /// have.
  enum Room { messages, inputs, outputs, replies, first_of_sparse };
  SharedBlock& room(std::size_t which, std::uint64_t bytes);

  /// Lets the worker use a block of shared_memory for its next request; its number there, 0 where it cannot.
  std::uint64_t share(const SharedBlock& block, SharedBlock::Access access);

  /// Sends a request with this message and waits for the reply. Throws Failure where the worker ends, breaks the protocol or takes too
  /// long. The report's text is set where its status is not 0, and ends with a zero.
  const isolate::Report& exchange(WorkerProcess& worker, isolate::Operation operation, std::uint64_t instance,
                                  std::span<const std::byte> message, std::uint64_t reply_bytes = 0, CallbackHandler* handler = nullptr);
  /// The arrays of the last reply: a copy that the worker cannot change.
  std::span<const std::byte> reply() const { return reply_; }

  std::uint32_t number() const { return number_; }
  Control& control() { return *reinterpret_cast<Control*>(control_.data()); }
  int control_descriptor() const { return control_.descriptor(); }
  int worker_socket() const { return worker_socket_.descriptor(); }
  void close_worker_socket() { worker_socket_ = OpenFile(-1); }

 private:
  void announce(const SharedBlock& block);
  void forget(const SharedBlock& block);
  void send(const isolate::BlockNotice& notice, int descriptor);
  isolate::Turn wait(WorkerProcess& worker, const std::chrono::steady_clock::time_point* deadline);
  void read_report(std::uint64_t capacity);
  void answer(CallbackHandler* handler);

  const std::uint32_t number_;
  const std::uint64_t most_bytes_;
  SharedBlock control_;
  OpenFile socket_{-1}, worker_socket_{-1};
  std::deque<std::unique_ptr<SharedBlock>> rooms_;
  std::unordered_set<std::uint64_t> shared_;  // numbers of blocks that the worker knows
  std::uint32_t new_blocks_ = 0;
  isolate::Report report_{};
  std::vector<std::byte> reply_;
};

/// Sends a notice and descriptors through a socket of a worker, and never waits. False where that fails.
bool send_descriptors(int socket, const isolate::BlockNotice& notice, std::span<const int> descriptors);

}  // namespace tenon

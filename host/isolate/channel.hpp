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

/// Handles callbacks from the worker during a request.
class CallbackHandler {
 public:
  virtual ~CallbackHandler() = default;
  /// Exceptions become the answer, except ProtocolError, which ends the worker.
  virtual void answer(const isolate::Report& report, std::span<const std::byte> payload,
                      isolate::Resume& resume) = 0;
};

/// Used by one thread at a time.
class Channel {
 public:
  Channel(std::uint32_t number, std::uint64_t max_bytes);

  /// Returns one of the channel's own buffers, with its previous content; it is reused by later
  /// requests. Throws Failure if it would exceed the limit of a call.
  enum Buffer { messages, inputs, outputs, replies, first_of_sparse };
  SharedBlock& buffer(std::size_t which, std::uint64_t bytes);

  /// Lets the worker use a block of shared_memory for its next request; returns its number there, 0
  /// if that is not possible.
  std::uint64_t share(const SharedBlock& block, SharedBlock::Access access);

  /// Sends a request with this message and waits for the reply. Throws Failure if the worker ends,
  /// violates the protocol or exceeds the time limit. If the report's status is not 0, its text is
  /// set and NUL-terminated.
  const isolate::Report& exchange(WorkerProcess& worker, isolate::Operation operation,
                                  std::uint64_t instance, std::span<const std::byte> message,
                                  std::uint64_t reply_bytes = 0,
                                  CallbackHandler* handler = nullptr);
  /// Returns the last reply's arrays: a copy that the worker cannot change.
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
  const std::uint64_t max_bytes_;
  SharedBlock control_;
  OpenFile socket_{-1}, worker_socket_{-1};
  std::deque<std::unique_ptr<SharedBlock>> buffers_;
  std::unordered_set<std::uint64_t> shared_;  // numbers of blocks that the worker has mapped
  std::uint32_t new_blocks_ = 0;
  isolate::Report report_{};
  std::vector<std::byte> reply_;
};

/// Sends a notice and descriptors through a worker's socket without blocking. Returns false on
/// failure.
bool send_descriptors(int socket, const isolate::BlockNotice& notice,
                      std::span<const int> descriptors);

}  // namespace tenon

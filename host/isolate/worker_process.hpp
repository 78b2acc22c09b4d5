// A process that runs a plugin's code.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tenon/host/failure.hpp>
#include <thread>
#include <vector>

#include "io/child.hpp"
#include "isolate/channel.hpp"
#include "isolate/protocol.hpp"
#include "isolate/shared_block.hpp"

namespace tenon {

// 31 years; ten times that would overflow a clock's nanoseconds
constexpr double max_call_seconds = 1e9;

/// Options for all workers of a host.
struct WorkerOptions {
  std::filesystem::path program;  ///< path of tenon-worker
  int start_timeout_ms = 10000;
  double call_seconds = 0;  ///< time limit of a call; 0 for no limit; at most max_call_seconds
  /// limit in bytes for the worker's own memory, and again for each call's tensors; 0 for no limit
  std::uint64_t memory = 0;
  int threads = 1;  ///< for parallel loops
};

/// A plugin that a worker loads.
struct WorkerPlugin {
  /// the original file, as seen by the plugin's own code; messages show its name: `half_square.so`
  std::filesystem::path path;
  int descriptor = -1;  ///< of the bytes that were checked
  /// copies of libraries, which the plugin's bytes refer to by descriptor from
  /// isolate::first_library_descriptor on
  std::vector<int> libraries{};
  /// libraries that the loader may read in addition to the system's
  std::vector<std::filesystem::path> readable{};
  std::shared_ptr<const void> library_owner{};  ///< owns `libraries`
};

/// Why a worker could not be started. `what()` can follow the plugin's path.
class WorkerStartError : public Failure {
 public:
  enum class Reason { crashed, hung, not_opened };
  WorkerStartError(Reason reason, const std::string& text)
      : Failure(FailureKind::plugin, text), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

/// The process is killed when this object is destroyed, and by the system when this process ends.
/// Thread-safe.
class WorkerProcess {
 public:
  /// Returns once the plugin is loaded. Throws WorkerStartError, whose text for not_opened is the
  /// loader's message; Failure (failed) if the process cannot be started.
  WorkerProcess(const WorkerPlugin& plugin, const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Returns an unused channel; return it with give_back(). Throws Failure.
  std::unique_ptr<Channel> borrow_channel();
  void give_back(std::unique_ptr<Channel> channel);

  bool ended() const { return ended_.load(std::memory_order_seq_cst); }
  /// Ends the process unless it has ended; `why` can follow "its worker process ".
  void end(const std::string& why);
  /// Waits for the process to end and describes how it ended, with the plugin's name: `its worker
  /// process crashed with SIGSEGV (half_square.so)`. `channel` is the number of the caller's
  /// channel.
  std::string end_sentence(std::uint32_t channel);

  const WorkerOptions& options() const { return options_; }
  const std::string& limits() const { return limits_; }  ///< in force: `seccomp, landlock, rlimits`

 private:
  void guard(const std::vector<std::string>& arguments, const std::vector<int>& descriptors,
             std::promise<void>& started);
  void await_ready();
  std::string how_it_ended(std::uint32_t channel) const;
  std::string backtrace() const;

  const WorkerOptions options_;
  const std::string name_;
  SharedBlock crash_;
  OpenFile socket_{-1};
  std::string limits_;

  mutable std::mutex mutex_;
  // reaped under the lock, so that no signal reaches another process that reuses the number
  std::optional<Child> child_;
  std::string ended_because_;  // set if this process ended it
  std::optional<int> status_;
  std::vector<Control*> controls_;
  std::vector<std::unique_ptr<Channel>> idle_;
  std::uint32_t channels_ = 0;
  std::atomic<bool> ended_ = false;
  std::promise<void> end_promise_;
  std::shared_future<void> end_ = end_promise_.get_future().share();
  // started the process and must outlive it, because the system kills the process when this thread
  // ends
  std::thread guardian_;
};

}  // namespace tenon

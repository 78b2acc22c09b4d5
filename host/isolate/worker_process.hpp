// A process that runs a plugin's code, from its start to its end.
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

constexpr double longest_call_seconds = 1e9;  // 31 years; ten times as many are more nanoseconds than a clock counts

/// How all workers of a host are started.
struct WorkerOptions {
  std::filesystem::path program;  ///< tenon-worker
  int start_timeout_ms = 10000;
  double call_seconds = 0;   ///< what takes longer is ended; 0: no limit; at most longest_call_seconds
  std::uint64_t memory = 0;  ///< bytes of its own, and again of each call's tensors; 0: no limit
  int threads = 1;           ///< of parallel loops
};

/// What a worker loads.
struct WorkerPlugin {
  std::filesystem::path path;    ///< the file's, for its own code; messages have its name: `half_square.so`
  int descriptor = -1;           ///< of the bytes that were checked
  std::vector<int> libraries{};  ///< copies of libraries, which the plugin's bytes name by isolate::first_library_descriptor and so on
  std::vector<std::filesystem::path> readable{};  ///< libraries that the loader may read besides the system's
  std::shared_ptr<const void> kept{};             ///< owns `libraries`
};

/// Why there is no worker. `what()` reads on after the plugin's path.
class WorkerStartError : public Failure {
 public:
  enum class Reason { crashed, hung, not_opened };
  WorkerStartError(Reason reason, const std::string& text) : Failure(FailureKind::plugin, text), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

/// Killed when this is destroyed, and by the system when this process ends. Threads: any.
class WorkerProcess {
 public:
  /// Returns once the plugin is loaded. Throws WorkerStartError, whose text for not_opened is what the loader says; Failure (failed) where
  /// no process can be started.
  WorkerProcess(const WorkerPlugin& plugin, const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// One that nobody uses; it comes back by give_back. Throws Failure.
  std::unique_ptr<Channel> borrow_channel();
  void give_back(std::unique_ptr<Channel> channel);

  bool ended() const { return ended_.load(std::memory_order_seq_cst); }
  /// Ends it, unless it has ended; `why` reads on after "its worker process ".
  void end(const std::string& why);
  /// Waits for its end, and says how that came, with the plugin's name: `its worker process crashed with SIGSEGV (half_square.so)`. To who
  /// spoke through that channel.
  std::string end_sentence(std::uint32_t channel);

  const WorkerOptions& options() const { return options_; }
  const std::string& limits() const { return limits_; }  ///< in force: `seccomp, landlock, rlimits`

 private:
  void guard(const std::vector<std::string>& arguments, const std::vector<int>& descriptors, std::promise<void>& started);
  void await_ready();
  std::string how_it_ended(std::uint32_t channel) const;
  std::string backtrace() const;

  const WorkerOptions options_;
  const std::string name_;
  SharedBlock crash_;
  OpenFile socket_{-1};
  std::string limits_;

  mutable std::mutex mutex_;
  std::optional<Child> child_;  // reaped under the lock: nobody signals a number that is another process's by then
  std::string ended_because_;   // by this process
  std::optional<int> status_;
  std::vector<Control*> controls_;
  std::vector<std::unique_ptr<Channel>> idle_;
  std::uint32_t channels_ = 0;
  std::atomic<bool> ended_ = false;
  std::promise<void> end_told_;
  std::shared_future<void> end_ = end_told_.get_future().share();
  std::thread guardian_;  // started the process: it must not end before, or the system ends the process
};

}  // namespace tenon

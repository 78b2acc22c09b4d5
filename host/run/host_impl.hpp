// The implementation of Host.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <tenon/host/call_cache.hpp>
#include <tenon/host/host.hpp>

#include "device/threads.hpp"
#include "plugin/plugin_set.hpp"
#include "run/warnings.hpp"
#include "tensor/call_context.hpp"

namespace tenon {

struct EagerCall;
class RuleCache;

/// The host functions for plugins. Their calls carry a CallContext.
const tenon_host& host_table();

/// The position in the random streams from which a call draws.
struct RandomPosition {
  std::uint64_t seed = 0, step = 0;
};

/// Prefixes log lines with the running kernel. Warnings go to the host's warnings, each once; other
/// levels to HostOptions::log.
class HostLog : public KernelLog {
 public:
  HostLog(Warnings& warnings, const std::function<void(const std::string&)>& log)
      : warnings_(warnings), log_(log) {}
  void add(std::int32_t level, std::string_view text) override;

 private:
  Warnings& warnings_;
  const std::function<void(const std::string&)>& log_;
};

struct Host::Impl : std::enable_shared_from_this<Host::Impl> {
  explicit Impl(HostOptions options);
  ~Impl();
  const std::uint64_t number;  // HostVersion::host
  HostOptions options;
  Threads threads;
  Warnings warnings;
  HostLog kernel_log{warnings, options.log};
  PluginSet plugin_set;
  std::unique_ptr<CallCache<EagerCall>> calls;  // of operators in plugin_set
  std::unique_ptr<RuleCache> rules;             // of operators in plugin_set
  std::once_flag defaults_scanned;

  PluginSet& plugins();  ///< with the default folders scanned
  HostVersion version() const { return {number, plugin_set.generation()}; }

  /// The position for the next call. The seed is read after the step, so that no call combines a
  /// step of a new seed with the old seed.
  RandomPosition next_random() {
    const auto step = eager_calls_.fetch_add(1);
    return {seed_.load(), step};
  }
  void start_random(std::uint64_t seed) {
    seed_.store(seed);
    eager_calls_.store(0);
  }

 private:
  std::atomic<std::uint64_t> seed_, eager_calls_ = 0;
};

}  // namespace tenon

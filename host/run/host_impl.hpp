// The implementation of Host.
#pragma once
#include <memory>
#include <mutex>
#include <tenon/host/call_cache.hpp>
#include <tenon/host/host.hpp>

#include "device/threads.hpp"
#include "plugin/plugin_set.hpp"
#include "run/random_positions.hpp"
#include "run/warnings.hpp"
#include "tensor/call_context.hpp"

namespace tenon {

struct EagerCall;
class RuleCache;

/// The host functions for plugins. Their calls carry a CallContext.
const tenon_host& host_table();

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
  RandomPositions random;  // of eager and prepared calls

  PluginSet& plugins();  ///< with the default folders scanned
  HostVersion version() const { return {number, plugin_set.generation()}; }
};

}  // namespace tenon

// What a Host consists of.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <tenon/host/host.hpp>

#include "device/threads.hpp"
#include "plugin/plugin_set.hpp"
#include "run/warnings.hpp"

namespace tenon {

class CallCache;

/// The functions that plugins get. Its calls carry a CallContext.
const tenon_host& host_table();

struct Host::Impl {
  explicit Impl(HostOptions options);
  ~Impl();
  HostOptions options;
  Threads threads;
  Warnings warnings;
  PluginSet plugin_set;
  std::unique_ptr<CallCache> calls;  // of operators in plugin_set
  std::once_flag defaults_scanned;
  std::atomic<std::uint64_t> eager_calls = 0;  ///< the step of random numbers

  PluginSet& plugins();  ///< with the default folders in it
};

}  // namespace tenon

// Hosts whose plugins run in workers.
#pragma once
#include <tenon/host/host.hpp>

#include "built.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// sanitizers do not allow memory limits and handle signals themselves
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

struct IsolatedHost {
  TemporaryFolder cache;
  tenon::Host host;

  explicit IsolatedHost(const std::string& plugins, bool isolate = true,
                        tenon::Isolation limits = {})
      : host(options(isolate, std::move(limits))) {
    host.add_plugins(built(plugins));
  }

 private:
  tenon::HostOptions options(bool isolate, tenon::Isolation limits) const {
    auto options = plugin_options(cache);
    options.threads = 2;
    options.isolate = std::move(limits);
    options.isolate.all = isolate;
    return options;
  }
};

/// With a plugin whose behaviour the test selects.
struct MisbehavingHost : IsolatedHost {
  explicit MisbehavingHost(tenon::Isolation limits = {})
      : IsolatedHost("faults/misbehaves.so", true, std::move(limits)) {}
  tenon::Tensor call(const std::string& what, const std::string& where = "forward") {
    return host.call("misbehaves", {tenon::Tensor::from({1.0f, 2.0f, 3.0f}, {3})},
                     {{"what", what}, {"where", where}});
  }
};

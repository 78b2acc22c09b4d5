// A host with the bundled plugins that rejects implicit conversions of sparse tensors to dense.
#pragma once
#include <tenon/host/host.hpp>

#include "built.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

struct StrictHost {
  TemporaryFolder cache;
  tenon::Host host;

  explicit StrictHost(int threads) : host(options(threads)) { host.add_plugins(built("plugins")); }
  operator tenon::Host&() { return host; }

 private:
  tenon::HostOptions options(int threads) const {
    auto options = plugin_options(cache);
    options.threads = threads;
    options.strict_storage = true;
    return options;
  }
};

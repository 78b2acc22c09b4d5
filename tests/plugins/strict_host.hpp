// A host with the bundled plugins that rejects implicit conversions of sparse tensors to dense.
#pragma once
#include <tenon/host/host.hpp>

#include "built.hpp"
#include "temporary_folder.hpp"

struct StrictHost {
  TemporaryFolder cache;
  tenon::Host host;

  explicit StrictHost(int threads) : host(options(threads)) { host.add_plugins(built("plugins")); }
  operator tenon::Host&() { return host; }

 private:
  tenon::HostOptions options(int threads) const {
    tenon::HostOptions options;
    options.threads = threads;
    options.search_defaults = false;
    options.trust_writable = true;
    options.strict_storage = true;
    options.cache = cache.path();
    return options;
  }
};
